import * as client from 'openid-client'
import t from 'tap'
import { defineProvider } from '../../lib/index.js'
import { redeemCode } from '../../lib/oauth/token-request.js'

const issuer = 'https://acme.example'
const provider = defineProvider({ name: 'Acme', issuer, clientId: 'id', apiOrigins: ['https://api.acme.example'] })

t.test('STA-03 the response must have the state of the request, also where the code is redeemed', async t => {
  const requests: string[] = []
  const configuration = new client.Configuration({ issuer, token_endpoint: `${issuer}/token` }, 'id')
  configuration[client.customFetch] = async (url, { body }) => {
    requests.push(`${url} ${String(body)}`)
    return Response.json({ access_token: 'x', token_type: 'bearer' })
  }
  const redeem = async (query: string): ReturnType<typeof redeemCode> => await redeemCode(configuration, provider, {
    response: new URL(`https://mcp.example.com/connect/callback/acme?${query}`), state: 's', codeVerifier: 'v'.repeat(43)
  })
  for (const query of ['code=x', 'code=x&state=', 'code=x&state=other', 'code=x&state=s&state=s']) {
    await t.rejects(redeem(query), { code: 'FST_MCP_CONNECT_EXCHANGE_FAILED', message: /OAUTH_INVALID_RESPONSE/ }, query)
  }
  t.strictSame(requests, [])
  t.match(await redeem('code=x&state=s'), { access_token: 'x' })
  t.match(requests, [/^https:\/\/acme\.example\/token .*code_verifier=v{43}/])
})
