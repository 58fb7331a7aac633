import type { FastifyReply, FastifyRequest } from 'fastify'
import { FLOW_TTL_MS } from '../elicitation/flows.js'
import { hashFields } from '../encoding.js'
import type { Cookies } from './cookies.js'

const PREFIX = 'mcp-connect-flow-'
const MAX_FLOW_COOKIES = 5

/** One cookie per flow: it shows that the authorization response comes to the browser that pressed the button. */
export interface FlowCookies {
  write (request: FastifyRequest, reply: FastifyReply, state: string, value: string): void
  read (request: FastifyRequest, state: string): string | undefined
  clear (reply: FastifyReply, state: string): void
}

export function createFlowCookies (cookies: Cookies): FlowCookies {
  const nameOf = (state: string): string => PREFIX + hashFields('flow cookie name', state).slice(0, 16)
  return {
    write (request, reply, state, value) {
      // What looks otherwise is not ours, and may have a name that cannot be written.
      const old = cookies.names(request, PREFIX).filter(name => /^[0-9a-f]{16}$/.test(name.slice(PREFIX.length)))
      for (const name of old.slice(0, Math.max(0, old.length - MAX_FLOW_COOKIES + 1))) cookies.write(reply, name, '', 0)
      cookies.write(reply, nameOf(state), value, FLOW_TTL_MS / 1000)
    },
    read: (request, state) => cookies.read(request, nameOf(state)),
    clear: (reply, state) => cookies.write(reply, nameOf(state), '', 0)
  }
}
