import type { FastifyRequest } from 'fastify'

/** The addresses of the plugin's pages. All of them come from the configured base URL, none from a request. */
export interface Urls {
  /** `https://host`, as browsers send it in `Origin`. */
  readonly origin: string
  readonly secure: boolean
  readonly connections: string
  elicitation (id: string, step?: 'start' | 'decline' | 'done' | 'account' | `account/${string}`): string
  provider (key: string, step: 'connect' | 'add' | 'disconnect'): string
  /** One account of a provider, by the id of its grant. */
  account (key: string, id: string, step: 'connect' | 'default' | 'disconnect'): string
  /** @param segment of an authorization server that is a tenant's own */
  redirectUri (provider: string, segment?: string): string
  /** An address with the query of a request. */
  withQueryOf (request: FastifyRequest, address: string): URL
  login (step?: 'callback' | 'sign-out' | 'signed-out'): string
  /** The path of a page of ours that may be come back to after signing in; everything else becomes the connections page. */
  returnTo (value: unknown): string
}

/** Of redirection endpoints. The segment is of an authorization server that is a tenant's own. */
export const CALLBACK_ROUTES = ['/callback/:provider', '/callback/:provider/:segment(^[\\da-f]{32}$)'] as const

/** The connections page, and the pages of one elicitation. */
const PAGE = /^(\/[\w-]{43}(\/(done|account))?)?$/

/** @param prefix path of the plugin's routes in the application */
export function createUrls (baseUrl: URL, prefix: string): Urls {
  const base = baseUrl.href.replace(/\/+$/, '')
  const root = base + prefix
  const rootPath = new URL(root).pathname
  return {
    origin: baseUrl.origin,
    secure: baseUrl.protocol === 'https:',
    connections: root,
    elicitation: (id, step) => step === undefined ? `${root}/${id}` : `${root}/${id}/${step}`,
    provider: (key, step) => `${root}/providers/${key}/${step}`,
    account: (key, id, step) => `${root}/providers/${key}/accounts/${id}/${step}`,
    redirectUri: (provider, segment) => segment === undefined ? `${root}/callback/${provider}` : `${root}/callback/${provider}/${segment}`,
    withQueryOf: ({ url }, address) => new URL(address + new URL(url, base).search),
    login: step => step === undefined ? `${root}/login` : `${root}/login/${step}`,
    returnTo: value => typeof value === 'string' && value.startsWith(rootPath) && PAGE.test(value.slice(rootPath.length)) ? value : rootPath
  }
}
