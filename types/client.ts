/*
 * Clients of either SDK, as they are.
 */
import { Client as V2Client } from '@modelcontextprotocol/client'
import { Client as V1Client } from '@modelcontextprotocol/sdk/client/index.js'
import { allowLoopbackHttp, handleUrlElicitation, UrlElicitationError, urlMode, type UrlElicitationReason, type UrlRefusal } from 'fastify-mcp-connect/client'
import { expect, type Equal } from './equal.js'

const v1 = new V1Client({ name: 'types', version: '1.0.0' }, { capabilities: urlMode })
const v2 = new V2Client({ name: 'types', version: '1.0.0' }, { capabilities: urlMode })

handleUrlElicitation(v2, { consent: async () => 'cancel', open () {}, [allowLoopbackHttp]: true }).close()
const { run } = handleUrlElicitation(v1, {
  async consent ({ url, host, warnings }, { signal }) {
    expect<Equal<typeof url, string>>()
    return signal.aborted || host.ascii !== host.unicode || warnings.includes('punycode') ? 'decline' : 'open'
  },
  async done ({ message }, { signal }) { signal.throwIfAborted(); message.trim() }
})
run(async () => await v1.callTool({ name: 'tool' }), { signal: new AbortController().signal }).then(answer => {
  expect<Equal<typeof answer, Awaited<ReturnType<typeof v1.callTool>>>>()
}, () => {})

declare const error: unknown
if (error instanceof UrlElicitationError) {
  expect<Equal<typeof error.reason, UrlElicitationReason>>()
  expect<Equal<typeof error.refusal, UrlRefusal | undefined>>()
}

// @ts-expect-error Somebody must be asked.
handleUrlElicitation(v1, {})
// @ts-expect-error There is no such answer.
handleUrlElicitation(v1, { consent: async () => 'accept' })
// @ts-expect-error A server is no client.
handleUrlElicitation({ server: v1 }, { consent: async () => 'open' })
