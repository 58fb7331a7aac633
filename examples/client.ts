import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { handleUrlElicitation, urlMode, type UrlElicitationOptions } from 'fastify-mcp-connect/client'
import { createInterface } from 'node:readline/promises'

/** Asks in the terminal. */
export const consent: UrlElicitationOptions['consent'] = async ({ url, host, message, warnings, server }, { signal }) => {
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    console.log(`${server ?? 'The server'} says: ${message}\nIt wants you to open a page at ${host.ascii}:\n${url}`)
    if (host.unicode !== host.ascii) console.log(`(${host.ascii} is written ${host.unicode})`)
    if (warnings.length > 0) console.log(`Take care: ${warnings.join(', ')}`)
    const answer = await terminal.question('Open it? y(es), n(o), or anything else for later ', { signal })
    return answer === 'y' ? 'open' : answer === 'n' ? 'decline' : 'cancel'
  } finally {
    terminal.close()
  }
}

/** Calls a tool. Where that needs something done in the browser, it asks, waits until it is done, and calls again. */
export async function callTool (url: string, accessToken: string, name: string, options: UrlElicitationOptions = { consent }) {
  const client = new Client({ name: 'example', version: '1.0.0' }, { capabilities: urlMode })
  const elicitation = handleUrlElicitation(client, options)
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${accessToken}` } } }))
  try {
    return await elicitation.run(() => client.callTool({ name }))
  } finally {
    await client.close()
  }
}
