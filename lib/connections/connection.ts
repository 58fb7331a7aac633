import { ApiOriginError, ConnectionEndedError, GrantEndedError, RefreshFailedError } from '../errors.js'
import type { Connection, Disconnected } from '../types.js'
import type { StoredGrant } from './entry.js'
import type { Fresh, Place, Refreshing } from './refreshing.js'

export interface ConnectionServices extends Pick<Refreshing, 'fresh' | 'renew'> {
  /** Ends the grant, or whichever has taken its place for the same account. @returns `null` when there is none */
  disconnect (place: Place, stored: StoredGrant): Promise<Disconnected | null>
}

/** What another process had got when a token was refused may have grown old as well. One that is new is not renewed. */
const MAX_SENDS = 3

/** Makes the handle that a guarded handler receives. */
export function createConnection (place: Place, stored: StoredGrant, services: ConnectionServices): Connection {
  const { key, provider: { name, apiOrigins } } = place
  const { account, scopes } = stored.grant
  // The grant lives in this closure alone: no property of the handle leads to it.
  let latest = stored
  let ending: Promise<Disconnected | null> | undefined

  function assertNotEnded (): void {
    if (ending !== undefined) throw new ConnectionEndedError(name)
  }

  async function fresh (): Promise<StoredGrant> {
    assertNotEnded()
    const used = take(await services.fresh(place, latest))
    assertNotEnded()                              // it may have been ended while the provider was asked
    return used
  }

  function take (fresh: Fresh): StoredGrant {
    if (fresh.kind === 'ended') throw new GrantEndedError(name)
    if (fresh.kind !== 'fresh') throw new RefreshFailedError(name)
    latest = fresh.stored
    return latest
  }

  /** @returns `null` when there is no other access token than the one that was refused, and none to be had */
  async function renew (refused: StoredGrant): Promise<StoredGrant | null> {
    assertNotEnded()
    const fresh = await services.renew(place, refused)
    return fresh.kind === 'fresh' && fresh.stored.version === refused.version ? null : take(fresh)
  }

  return Object.freeze({
    provider: key,
    scopes: Object.freeze([...scopes]),
    get expiresAt () {
      return latest.grant.expiresAt
    },
    account: account && Object.freeze({ ...account }),
    async accessToken () {
      return (await fresh()).grant.accessToken
    },
    async fetch (input: string | URL | Request, init?: RequestInit) {
      const url = parseUrl(input instanceof Request ? input.url : String(input))
      if (!apiOrigins.includes(url.origin)) throw new ApiOriginError(apiOrigins.join(', '), url.origin)
      const request = (): Request => new Request(input instanceof Request ? input : url, withDuplex(init))
      const repeatable = !(input instanceof Request && input.body !== null) && !isStream(init?.body)
      let used = await fresh()
      for (let sends = 1; ; sends++) {
        const response = await send(request(), used)
        if (response.status !== 401 || sends === MAX_SENDS) return response
        if (!repeatable) {
          renew(used).catch(() => {})       // for the next one
          return response
        }
        const renewed = await renew(used)
        if (renewed === null) return response
        response.body?.cancel().catch(() => {})     // nobody reads it
        used = renewed
      }
    },
    async disconnect () {
      ending ??= services.disconnect(place, latest).catch((error: unknown) => {
        ending = undefined
        throw error
      })
      return await ending
    }
  })
}

async function send (request: Request, { grant: { accessToken } }: StoredGrant): Promise<Response> {
  request.headers.set('authorization', `Bearer ${accessToken}`)
  // fetch would send a body again, and to other origins too.
  const mayFollow = request.redirect !== 'follow' || ['GET', 'HEAD'].includes(request.method)
  return await fetch(request, mayFollow ? {} : { redirect: 'manual' })
}

/** fetch itself would repeat the URL in its error, and with it a password. @throws TypeError */
function parseUrl (input: string): URL {
  if (!URL.canParse(input)) throw new TypeError('connection.fetch takes an absolute URL')
  const url = new URL(input)
  if (url.username + url.password !== '') throw new TypeError('connection.fetch takes no URL with a user or a password')
  return url
}

function isStream (body: unknown): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

/** A stream as a body must say that the answer comes after it (Fetch standard, `duplex`). */
function withDuplex (init: RequestInit | undefined): RequestInit | undefined {
  return isStream(init?.body) && !('duplex' in init!) ? { ...init, duplex: 'half' } as RequestInit : init
}
