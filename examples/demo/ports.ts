import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import type { AddressInfo } from 'node:net'

/** Every server of the demo listens here and nowhere else. */
export const loopback = '127.0.0.1'

/** Starts listening on loopback. @returns the port */
export async function listenOnLoopback (server: Server, port: number): Promise<number> {
  // A busy process would close idle connections at the very moment that they are used again: "fetch failed" on Node 20.
  if ('keepAliveTimeout' in server) server.keepAliveTimeout = 0
  server.listen(port, loopback)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/**
 * Holds a port until it is released: for a server whose own address must be known before it can be set up.
 * @param port the port to hold; 0 is any free one
 */
export async function reservePort (port: number): Promise<{ readonly port: number, release (): Promise<void> }> {
  const holder = createServer()
  const held = await listenOnLoopback(holder, port)
  return {
    port: held,
    async release () {
      if (!holder.listening) return
      holder.close()
      await once(holder, 'close')
    }
  }
}

/** The port of an origin or an issuer of the demo. */
export function portOf (url: string): number {
  return Number(new URL(url).port)
}

/** Whether an error says that somebody else listens on the port. */
export function isPortTaken (error: unknown): error is NodeJS.ErrnoException & { readonly port: number } {
  return (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
}
