import { HttpBrowser, type Form, type Page } from './http-browser.js'

/** The accounts of a person, and what they do with the pages they meet. */
export interface Visitor {
  /** User and password at the app. */
  readonly login: string
  readonly password: string
  /** Account at Acme. */
  readonly acmeLogin: string
  /** What to do on Acme's consent page. @default 'allow' */
  readonly decision?: 'allow' | 'deny'
  /** Told about each page, before it is answered. */
  readonly onPage?: (page: Page, what: string) => void
}

interface Answer {
  readonly what: string
  readonly fields?: Readonly<Record<string, string>>
  readonly press: string
}

const maxPages = 10

/**
 * Opens a link as a person would and answers every page: signs in where it has to, goes on to Acme, consents.
 * @returns the first page that asks for nothing
 */
export async function visit (browser: HttpBrowser, url: string, visitor: Visitor): Promise<Page> {
  let page = await browser.open(url)
  for (let count = 0; count < maxPages; count += 1) {
    const answer = answerTo(page, visitor)
    if (answer == null) return page
    visitor.onPage?.(page, answer.what)
    page = await browser.submit(page, answer.fields, answer.press)
  }
  throw new Error(`more than ${maxPages} pages`)
}

function answerTo ({ forms }: Page, { login, password, acmeLogin, decision = 'allow' }: Visitor): Answer | undefined {
  for (const form of forms) {
    const [button] = form.buttons
    if (button == null) continue
    if (asksFor(form, 'password')) return { what: `sign in as ${login}`, fields: { login, password }, press: button.label }
    if (asksFor(form, 'login')) return { what: `sign in as ${acmeLogin}`, fields: { login: acmeLogin }, press: button.label }
    if (button.name === 'decision') return { what: decision, press: decision }
    if (form.action.endsWith('/start')) return { what: `press "${button.label}"`, press: button.label }
  }
  return undefined
}

function asksFor ({ inputs }: Form, name: string): boolean {
  return inputs.some(input => input.name === name)
}
