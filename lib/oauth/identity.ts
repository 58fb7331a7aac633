import { plainText } from '../plain-text.js'
import type { Account, IdentityDefinition, Provider } from '../types.js'
import { labelAtUserInfo, MAX_LABEL_LENGTH, readLabel } from './claims.js'
import type { Configuration } from './configuration.js'
import { inDialect, parseJson, valueAt } from './dialect.js'
import { createOutboundFetch } from './outbound.js'
import type { Tokens } from './token-request.js'

const TIMEOUT_MS = 5000
const MAX_SUBJECT_LENGTH = 1024

/** Whether a provider tells which account it was: only then can several be told apart. */
export function tellsAccounts ({ identity, scopes }: Provider): boolean {
  return identity !== undefined || scopes.includes('openid')
}

/** Whose account was granted: by the provider's own way, or by the id_token. @returns `undefined` when that cannot be told. Never fails. */
export async function readAccount (configuration: Configuration, provider: Provider, tokens: Tokens): Promise<Account | undefined> {
  const { identity } = provider
  if (identity !== undefined) return readIdentity(identity, identity.url === undefined ? tokens : await ask(provider, identity, identity.url, tokens.access_token))
  const claims = tokens.claims()
  if (claims === undefined) return undefined
  const label = readLabel(claims) ?? await labelAtUserInfo(configuration, tokens.access_token, claims.sub)
  return { subject: claims.sub, ...label !== undefined && { label } }
}

function readIdentity ({ subject, labels = [] }: IdentityDefinition, answer: unknown): Account | undefined {
  const id = valueAt(answer, subject)
  if (!(typeof id === 'string' && id !== '' && id.length <= MAX_SUBJECT_LENGTH) && !Number.isSafeInteger(id)) return undefined
  const label = labels.map(path => valueAt(answer, path)).filter(value => typeof value === 'string')
    .map(value => plainText(value, MAX_LABEL_LENGTH)).find(value => value !== '')
  return { subject: String(id), ...label !== undefined && { label } }
}

async function ask (provider: Provider, { method = 'GET', body }: IdentityDefinition, url: string, accessToken: string): Promise<unknown> {
  const headers = { accept: 'application/json', authorization: `Bearer ${accessToken}`, ...body !== undefined && { 'content-type': 'application/json' } }
  try {
    const fetch = inDialect(provider, () => false, createOutboundFetch(provider))
    const response = await fetch(url, { method, headers, signal: AbortSignal.timeout(TIMEOUT_MS), ...body !== undefined && { body } })
    return response.ok ? parseJson(await response.text()) : undefined
  } catch {
    return undefined
  }
}
