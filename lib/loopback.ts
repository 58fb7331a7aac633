/**
 * Unsafe. As a key of a provider's definition it lets `http:` addresses on loopback through:
 * `{ [allowLoopbackHttp]: true }`. For development and tests against an authorization server on the same machine.
 */
export const allowLoopbackHttp: unique symbol = Symbol.for('fastify-mcp-connect.allowLoopbackHttp')

/** Whether a host name leads to this machine and nowhere else. */
export function isLoopback (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname)
}

/** Whether an address may be used: https, or http to this machine where that is allowed. */
export function isSecure ({ protocol, hostname }: URL, loopbackHttp: boolean): boolean {
  return protocol === 'https:' || (protocol === 'http:' && loopbackHttp && isLoopback(hostname))
}
