import { OptionsError } from '../errors.js'

/** Your registration at a provider that there is a preset for. */
export interface PresetRegistration {
  readonly clientId: string
  readonly clientSecret: string
  /** Scopes that every authorization request asks for. @default [] */
  readonly scopes?: readonly string[]
}

/** Basic authentication with a client secret (RFC 6749 section 2.3.1), for requests that only one provider has. */
export function basicAuthorization ({ clientId, clientSecret = '' }: { readonly clientId: string, readonly clientSecret?: string }): string {
  return `Basic ${Buffer.from([clientId, clientSecret].map(encodeURIComponent).join(':')).toString('base64')}`
}

/** Scopes beside those that the preset always asks for. What is no list is left for `defineProvider` to refuse. */
export function scopesWith (own: readonly string[], scopes: readonly string[] = []): readonly string[] {
  return Array.isArray(scopes) ? [...new Set([...own, ...scopes])] : scopes
}

/**
 * Gives the registration back once all of it is known: a member that is misspelt must not be passed over.
 * @throws FST_MCP_CONNECT_OPTIONS
 */
export function readRegistration<R extends object> (preset: string, registration: R, known: readonly string[] = ['clientId', 'clientSecret', 'scopes']): R {
  if (typeof registration !== 'object' || registration === null) throw new OptionsError(`${preset}: must be an object of: ${known.join(', ')}`)
  const unknown = Object.keys(registration).find(name => !known.includes(name))
  if (unknown !== undefined) throw new OptionsError(`${preset}: unknown: ${unknown}; known are: ${known.join(', ')}`)
  return registration
}
