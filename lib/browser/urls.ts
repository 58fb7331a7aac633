/** The addresses of the plugin's pages. All of them come from the configured base URL, none from a request. */
export interface Urls {
  /** `https://host`, as browsers send it in `Origin`. */
  readonly origin: string
  readonly secure: boolean
  readonly connections: string
  elicitation (id: string, step?: 'start' | 'decline' | 'done'): string
  provider (key: string, step: 'connect' | 'disconnect'): string
  redirectUri (provider: string): string
}

/** @param prefix path of the plugin's routes in the application */
export function createUrls (baseUrl: URL, prefix: string): Urls {
  const base = baseUrl.href.replace(/\/+$/, '')
  const root = base + prefix
  return {
    origin: baseUrl.origin,
    secure: baseUrl.protocol === 'https:',
    connections: root,
    elicitation: (id, step) => step === undefined ? `${root}/${id}` : `${root}/${id}/${step}`,
    provider: (key, step) => `${root}/providers/${key}/${step}`,
    redirectUri: provider => `${root}/callback/${provider}`
  }
}
