import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

/** A button or an input of a form. */
export interface Control {
  readonly name: string
  readonly value: string
  /** What is written on a button. */
  readonly label: string
}

export interface Form {
  readonly action: string
  readonly method: string
  readonly inputs: readonly Control[]
  readonly buttons: readonly Control[]
}

export interface Page {
  readonly url: URL
  readonly status: number
  readonly html: string
  readonly title: string
  readonly forms: readonly Form[]
  /** What its forms send as `Origin`: `null` under the referrer policy `no-referrer`. */
  readonly origin: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly html: string
}

interface Cookie {
  readonly host: string
  readonly path: string
  readonly name: string
  readonly value: string
  readonly sameSite: string
}

interface Visit {
  readonly url: URL
  readonly method: string
  readonly body?: URLSearchParams
  readonly origin?: string
  /** The page that leads here; absent for an address that was typed in. */
  readonly from?: URL
}

const maxHops = 20

/**
 * As much of a browser as the demo's own pages need: cookies, redirects, `meta refresh`, forms. It understands HTML
 * by regular expressions, so it is for these known pages and no others. HTTP on loopback only.
 */
export class HttpBrowser {
  #cookies: Cookie[] = []
  readonly #stopAt: readonly string[]

  /** @param stopAt addresses that belong to another program, such as an MCP client's redirection endpoint */
  constructor (stopAt: readonly string[] = []) {
    this.#stopAt = stopAt
  }

  /** Goes to an address as if it had been typed in. */
  async open (url: string | URL): Promise<Page> {
    return await this.#go({ url: new URL(url), method: 'GET' })
  }

  /**
   * Fills the form that has the button and presses the button.
   * @param press what is written on the button, or its `value`; without it, the first button of the page
   */
  async submit (page: Page, fields: Readonly<Record<string, string>> = {}, press?: string): Promise<Page> {
    const pressed = (button: Control) => press == null || button.label === press || button.value === press
    const form = page.forms.find(({ buttons }) => buttons.some(pressed))
    const button = form?.buttons.find(pressed)
    if (form == null || button == null) throw new Error(`no button ${press ?? ''} on the page ${describe(page)}`)
    const body = new URLSearchParams()
    for (const { name, value } of form.inputs) body.append(name, fields[name] ?? value)
    for (const name of Object.keys(fields)) {
      if (!body.has(name)) throw new Error(`no input ${name} on the page ${describe(page)}`)
    }
    if (button.name !== '') body.append(button.name, button.value)
    const url = new URL(form.action === '' ? page.url : form.action, page.url)
    return form.method === 'post'
      ? await this.#go({ url, method: 'POST', body, origin: page.origin, from: page.url })
      : await this.#go({ url: new URL(`?${body.toString()}`, url), method: 'GET', from: page.url })
  }

  async #go (first: Visit): Promise<Page> {
    let visit = first
    let crossSite = isCrossSite(visit)
    for (let hop = 0; hop < maxHops; hop += 1) {
      const { url } = visit
      if (this.#stopAt.some(address => `${url.origin}${url.pathname}` === address)) return readPage(url, { status: 0, headers: {}, html: '' })
      const answer = await this.#send(visit, crossSite)
      const { status, headers: { location }, html } = answer
      if (status >= 300 && status < 400 && location != null) {
        const next = new URL(location, url)
        const keeps = status === 307 || status === 308
        visit = { ...visit, url: next, method: keeps ? visit.method : 'GET', body: keeps ? visit.body : undefined }
        crossSite ||= isCrossSite({ ...visit, from: url })
        continue
      }
      const refresh = metaRefresh(html, url)
      if (refresh == null) return readPage(url, answer)
      visit = { url: refresh, method: 'GET', from: url }
      crossSite = isCrossSite(visit)
    }
    throw new Error(`more than ${maxHops} redirections`)
  }

  async #send ({ url, method, body, origin, from }: Visit, crossSite: boolean): Promise<Answer> {
    const headers: Record<string, string> = {
      accept: 'text/html',
      'sec-fetch-dest': 'document',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-site': from == null ? 'none' : crossSite ? 'cross-site' : url.origin === from.origin ? 'same-origin' : 'same-site'
    }
    const cookies = this.#cookies.filter(({ host, path, sameSite }) =>
      host === url.hostname && pathMatches(url.pathname, path) &&
      (!crossSite || sameSite === 'none' || (sameSite === 'lax' && method === 'GET')))
    if (cookies.length > 0) headers.cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
    if (body != null) {
      headers['content-type'] = 'application/x-www-form-urlencoded'
      headers.origin = origin ?? 'null'
    }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const outgoing = request(url, { method, headers, agent: false, timeout: 10_000 }, resolve)
      outgoing.on('error', reject)
      outgoing.on('timeout', () => { outgoing.destroy(new Error(`no answer from ${url.origin}`)) })
      outgoing.end(body?.toString())
    })
    for (const line of response.headers['set-cookie'] ?? []) this.#keep(line, url)
    return { status: response.statusCode ?? 0, headers: response.headers, html: await text(response) }
  }

  #keep (line: string, url: URL): void {
    const [pair = '', ...rest] = line.split(';')
    const attributes = new Map(rest.map(attribute => {
      const [name = '', ...value] = attribute.split('=')
      return [name.trim().toLowerCase(), value.join('=').trim()]
    }))
    const [name = '', ...value] = pair.split('=')
    const cookie: Cookie = {
      host: url.hostname,
      path: attributes.get('path') ?? '/',
      name: name.trim(),
      value: value.join('=').trim(),
      sameSite: (attributes.get('samesite') ?? 'lax').toLowerCase()
    }
    this.#cookies = this.#cookies.filter(({ host, path, name }) =>
      host !== cookie.host || path !== cookie.path || name !== cookie.name)
    const expires = attributes.get('expires')
    const gone = attributes.get('max-age') === '0' || (expires != null && Date.parse(expires) <= Date.now())
    if (!gone) this.#cookies.push(cookie)
  }
}

/** Names a page without its query, which may hold an authorization code. */
export function describe ({ url, status, title }: Page): string {
  return `"${title}" (${url.origin}${url.pathname}, status ${status})`
}

function isCrossSite ({ url, from }: Visit): boolean {
  return from != null && from.hostname !== url.hostname
}

function pathMatches (path: string, cookiePath: string): boolean {
  return path === cookiePath || path.startsWith(cookiePath.endsWith('/') ? cookiePath : `${cookiePath}/`)
}

function metaRefresh (html: string, url: URL): URL | undefined {
  for (const [, source = ''] of html.matchAll(/<meta\b([^>]*)>/gi)) {
    const attributes = readAttributes(source)
    if (attributes.get('http-equiv')?.toLowerCase() !== 'refresh') continue
    const [, target] = /^\s*\d+\s*;\s*url\s*=\s*['"]?(.+?)['"]?\s*$/i.exec(attributes.get('content') ?? '') ?? []
    if (target != null) return new URL(target, url)
  }
  return undefined
}

function readPage (url: URL, { status, headers, html }: Answer): Page {
  const [, title = ''] = /<title>([^<]*)<\/title>/i.exec(html) ?? []
  const forms = [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gis)].map(([, source = '', content = '']) => {
    const attributes = readAttributes(source)
    return {
      action: attributes.get('action') ?? '',
      method: (attributes.get('method') ?? 'get').toLowerCase(),
      inputs: [...content.matchAll(/<input\b([^>]*)>/gi)].map(([, input = '']) => readControl(input)),
      buttons: [...content.matchAll(/<button\b([^>]*)>(.*?)<\/button>/gis)].map(([, button = '', label]) => readControl(button, label))
    }
  })
  const origin = headers['referrer-policy'] === 'no-referrer' ? 'null' : url.origin
  return { url, status, html, title: unescape(title), forms, origin }
}

function readControl (source: string, label = ''): Control {
  const attributes = readAttributes(source)
  return {
    name: attributes.get('name') ?? '',
    value: attributes.get('value') ?? '',
    label: unescape(label.replaceAll(/<[^>]*>/g, '')).trim()
  }
}

function readAttributes (source: string): Map<string, string> {
  return new Map([...source.matchAll(/([\w-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?/g)]
    .map(([, name = '', double, single, bare]) => [name.toLowerCase(), unescape(double ?? single ?? bare ?? '')]))
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescape (source: string): string {
  return source.replaceAll(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole: string, hex?: string, decimal?: string, name?: string) => {
    if (hex != null) return String.fromCodePoint(parseInt(hex, 16))
    if (decimal != null) return String.fromCodePoint(parseInt(decimal, 10))
    return entities[name ?? ''] ?? whole
  })
}
