import * as oauth from 'openid-client'
import { describe, HttpBrowser } from './http-browser.js'

export interface ClientSignInOptions {
  readonly mcpUrl: string
  readonly clientId: string
  readonly redirectUri: string
  /** Who signs in at the authorization server. */
  readonly login: string
}

/** The access tokens of an MCP client; refreshed when they are about to expire. */
export interface AccessTokens {
  /** The authorization server that the MCP endpoint named. */
  readonly issuer: string
  accessToken (): Promise<string>
}

/**
 * Signs an MCP client in, as the MCP specification has it: a 401, the metadata it points to (RFC 9728), the
 * authorization server's metadata (RFC 8414), an authorization code with PKCE for this resource (RFC 8707). The
 * pages are clicked through over HTTP.
 */
export async function signInClient (options: ClientSignInOptions): Promise<AccessTokens> {
  const { mcpUrl, clientId, redirectUri, login } = options
  const { authorizationServer, resource, scope } = await discover(mcpUrl)
  const configuration = await oauth.discovery(authorizationServer, clientId, undefined, oauth.None(), {
    algorithm: 'oauth2',
    execute: [oauth.allowInsecureRequests]
  })
  const pkceCodeVerifier = oauth.randomPKCECodeVerifier()
  const expectedState = oauth.randomState()
  const authorizationUrl = oauth.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri,
    scope,
    resource,
    state: expectedState,
    code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256'
  })

  const browser = new HttpBrowser([redirectUri])
  let page = await browser.open(authorizationUrl)
  page = await browser.submit(page, { login })
  page = await browser.submit(page, {}, 'allow')
  if (!page.url.href.startsWith(redirectUri)) throw new Error(`signing in ended on the page ${describe(page)}`)

  let tokens: oauth.TokenEndpointResponse = await oauth.authorizationCodeGrant(configuration, page.url, { pkceCodeVerifier, expectedState }, { resource })
  let expiresAt = expiry(tokens)
  return {
    issuer: configuration.serverMetadata().issuer,
    async accessToken () {
      if (Date.now() > expiresAt - 30_000 && tokens.refresh_token != null) {
        tokens = await oauth.refreshTokenGrant(configuration, tokens.refresh_token, { resource })
        expiresAt = expiry(tokens)
      }
      return tokens.access_token
    }
  }
}

function expiry (tokens: { expires_in?: number }): number {
  return tokens.expires_in == null ? Infinity : Date.now() + tokens.expires_in * 1000
}

async function discover (mcpUrl: string): Promise<{ authorizationServer: URL, resource: string, scope: string }> {
  const refused = await fetch(mcpUrl, { method: 'POST' })
  await refused.body?.cancel()
  const [, metadataUrl] = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '') ?? []
  if (refused.status !== 401 || metadataUrl == null) throw new Error('the MCP endpoint does not say who gives out access tokens')
  const metadata = await (await fetch(metadataUrl)).json() as {
    resource: string
    authorization_servers: [string]
    scopes_supported: string[]
  }
  if (metadata.resource !== mcpUrl) throw new Error('the MCP endpoint\'s metadata is about another resource')
  return {
    authorizationServer: new URL(metadata.authorization_servers[0]),
    resource: metadata.resource,
    scope: metadata.scopes_supported.join(' ')
  }
}
