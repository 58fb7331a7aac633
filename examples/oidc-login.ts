import type { FastifyInstance } from 'fastify'
import { oidcLogin, type Claims } from 'fastify-mcp-connect'

const issuer = 'https://login.example.com'

/**
 * For the option `principal`: some authorization servers call a user something else at each client (a pairwise `sub`), and the
 * same in claims of their own. It is asked on both sides, with the access token of an MCP call and with the login's id_token.
 */
export const principal = ({ tid, oid }: Claims) => ({ issuer, tenant: tid, subject: oid })

/** For the option `browser`. The redirect URI to register is https://mcp.example.com/connect/login/callback. */
export const browser = oidcLogin({
  issuer,
  clientId: process.env.LOGIN_CLIENT_ID!,
  clientSecret: process.env.LOGIN_CLIENT_SECRET!, // leave it out for a public client
  scopes: ['profile', 'email'], // the default; `openid` is always asked for
  // Where an id_token shares no claim with access tokens, this asks for an access token as MCP clients have it (RFC 8707), and
  // `principal` is asked with the claims of that one:
  // resource: 'https://mcp.example.com/mcp',
  idleTtlMs: 15 * 60_000, // signed out after 15 minutes without a page
  absoluteTtlMs: 12 * 60 * 60_000 // and after 12 hours at the latest
})

/** Once an account is closed: ends its browser sessions, whichever process has begun them. Its access tokens end where they were issued. */
export async function closeAccount (app: FastifyInstance, { tid, oid }: { tid: string, oid: string }): Promise<void> {
  await app.mcpConnect.revokeBrowserSessions({ issuer, tenant: tid, subject: oid })
}
