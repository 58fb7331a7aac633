import { github, type McpConnectOptions } from 'fastify-mcp-connect'
import { fakeOf } from 'fastify-mcp-connect/testing'

/** Your options, with a GitHub on this machine whose users agree at once; and that GitHub, to close it, and to see what it was asked. */
export async function withFakeGithub (options: McpConnectOptions) {
  const { fake, provider } = await fakeOf(github({ clientId: 'id', clientSecret: 'secret', scopes: ['repo'] }))
  fake.next('exchange', 'unavailable') // the first code is answered with status 503
  return { fake, options: { ...options, providers: { github: provider } } }
}
