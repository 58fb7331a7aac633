import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import { randomToken } from '../random.js'
import type { AuthInfo } from './bearer.js'
import { createExchanges, type Exchanges } from './exchanges.js'
import type { SessionTransport } from './sdk.js'
import type { EndpointSettings } from './types.js'

/** How many MCP sessions a principal may have at once. */
const MAX_OF_PRINCIPAL = 20

/** Makes what serves one MCP session. @param onclose is called when it ends of itself, as by DELETE */
export type Connect = (id: string, onclose: () => void) => Promise<SessionTransport>

/** An MCP session, of the principal and the client that opened it. */
export interface Session {
  handle (request: FastifyRequest, reply: FastifyReply, auth: AuthInfo): Promise<void>
}

interface Entry extends Session {
  readonly id: string
  readonly owner: string
  readonly principal: string
  readonly exchanges: Exchanges
  calls: number
  idle: NodeJS.Timeout | undefined
  transport: SessionTransport | undefined
}

export interface Sessions {
  /** @returns the session if it belongs to whoever asks; somebody else's is as good as none */
  find (id: string, auth: AuthInfo): Session | undefined
  /** Answers an `initialize` request by a new session. @returns why there is none: there are too many, of all or of this principal */
  open (request: FastifyRequest, reply: FastifyReply, auth: AuthInfo): Promise<'opened' | 'too many' | 'too many of one'>
  /** Ends all of them, for good. */
  close (): Promise<void>
}

export function createSessions ({ sessionIdleMs, maxSessions }: EndpointSettings, connect: Connect, log: FastifyBaseLogger): Sessions {
  const sessions = new Map<string, Entry>()
  const byPrincipal = new Map<string, Set<Entry>>()        // each set begins with the one that was least recently used
  let closed = false

  function reserve (auth: AuthInfo): Entry | 'too many' | 'too many of one' {
    if (closed) return 'too many'
    const { principal, owner } = describeOwner(auth)
    const own = byPrincipal.get(principal) ?? new Set()
    if (own.size >= MAX_OF_PRINCIPAL) {
      const unused = [...own].find(({ calls }) => calls === 0)
      if (unused === undefined) return 'too many of one'
      end(unused)
    }
    if (sessions.size >= maxSessions) return 'too many'
    const session: Entry = {
      id: randomToken(),
      owner,
      principal,
      exchanges: createExchanges(),
      calls: 0,
      idle: undefined,
      transport: undefined,
      handle: async (request, reply, auth) => {
        use(session, request, reply)
        await session.transport?.handle(request, reply, auth)
      }
    }
    sessions.set(session.id, session)
    byPrincipal.set(principal, own.add(session))
    return session
  }

  /** What is being answered keeps a session alive: a call, or an open stream. */
  function use (session: Entry, { method }: FastifyRequest, { raw }: FastifyReply): void {
    clearTimeout(session.idle)
    const own = byPrincipal.get(session.principal)
    if (own?.delete(session) === true) own.add(session)
    const call = method === 'GET' ? 0 : 1
    session.calls += call
    session.exchanges.add(raw, () => {
      session.calls -= call
      if (session.exchanges.size === 0 && sessions.has(session.id)) session.idle = setTimeout(end, sessionIdleMs, session).unref()
    })
  }

  async function end (session: Entry): Promise<void> {
    const { id, principal, idle, exchanges, transport } = session
    clearTimeout(idle)
    sessions.delete(id)
    const own = byPrincipal.get(principal)
    own?.delete(session)
    if (own?.size === 0) byPrincipal.delete(principal)
    session.transport = undefined
    await transport?.close().catch((error: unknown) => log.error({ err: error }, 'mcp-connect: an MCP session failed to end'))
    await exchanges.end()
  }

  return {
    find (id, auth) {
      const session = sessions.get(id)
      return session?.owner === describeOwner(auth).owner ? session : undefined
    },
    async open (request, reply, auth) {
      const session = reserve(auth)
      if (typeof session === 'string') return session
      session.calls += 1                          // so that it makes no room for another one before it has begun
      try {
        session.transport = await connect(session.id, () => {
          session.transport = undefined
          end(session)
        })
        if (closed) return 'too many'
        await session.handle(request, reply, auth)
        return 'opened'
      } finally {
        session.calls -= 1
        // Nobody knows the id of a session that did not begin.
        if (closed || session.transport?.sessionId === undefined) await end(session)
      }
    },
    async close () {
      closed = true
      await Promise.all([...sessions.values()].map(end))
    }
  }
}

function describeOwner ({ clientId, extra: { iss, sub } }: AuthInfo): { readonly principal: string, readonly owner: string } {
  return { principal: JSON.stringify([iss, sub]), owner: JSON.stringify([iss, sub, clientId]) }
}
