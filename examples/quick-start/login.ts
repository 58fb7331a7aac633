import type { FastifyRequest } from 'fastify'
import type { BrowserUser } from 'fastify-mcp-connect'

/** Stands for the login that your application has: it reads your session, and nothing else of the request. */
export function signedInUser (request: FastifyRequest): BrowserUser | null {
  const session = (request as FastifyRequest & { session?: { user?: { id: string, email: string } } }).session
  if (session?.user === undefined) return null
  return { issuer: 'https://login.example.com', subject: session.user.id, label: session.user.email }
}
