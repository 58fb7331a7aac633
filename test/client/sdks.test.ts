import { createRequire } from 'node:module'
import t from 'tap'
import * as imported from '../../lib/client/index.js'
import { elicitation, startModern, startV1, startV2, type Answers } from '../fixtures/asking-server.js'
import { connectClient, createClient, SDKS } from '../fixtures/sdk-clients.js'

t.setTimeout(400_000)

const FAILED = { code: 'FST_MCP_CONNECT_URL_ELICITATION' }
const required = createRequire(import.meta.url)('fastify-mcp-connect/client') as typeof imported

for (const sdk of Object.keys(SDKS)) {
  for (const [how, { handleUrlElicitation }] of Object.entries({ imported, required })) {
    for (const [version, start] of Object.entries({ v1: startV1, v2: startV2 })) {
      t.test(`Client of ${sdk}, this package ${how}, a server of ${version}: tool, prompt and resource go through once somebody has been there`, async t => {
        let missing: string | null = null
        const server = await start(t, () => missing === null ? null : [elicitation(missing)])
        const client = createClient(sdk)
        const opened: string[] = []
        const { run } = handleUrlElicitation(client, {
          consent: async () => 'open',
          open: async url => {
            opened.push(url)
            const id = missing!
            missing = null
            await server.complete(id)
          }
        })
        await connectClient(t, client, server, sdk)
        missing = 'tool'
        t.match(await run(async () => await client.callTool({ name: 'list-issues' })), { content: [{ text: 'issues' }] })
        missing = 'prompt'
        t.match(await run(async () => await client.getPrompt({ name: 'triage' })), { messages: [] })
        missing = 'resource'
        t.match(await run(async () => await client.readResource({ uri: 'acme://issues' })), { contents: [] })
        t.strictSame(opened, ['tool', 'prompt', 'resource'].map(id => `https://mcp.example.com/connect/${id}`))
      })
    }

    t.test(`Client of ${sdk}, this package ${how}: elicitation/create is answered, and never with content`, async t => {
      const server = await startV1(t)
      const client = createClient(sdk, { elicitation: { url: {}, form: {} } })
      const { handleUrlElicitation } = { imported, required }[how]!
      handleUrlElicitation(client, { consent: async ({ message }) => message === 'Connect no.' ? 'decline' : message === 'Connect away.' ? 'cancel' : 'open', open: async () => { await server.complete('yes') } })
      await connectClient(t, client, server, sdk)
      t.strictSame(await server.elicit(elicitation('yes')), { action: 'accept' })
      t.strictSame(await server.elicit(elicitation('no')), { action: 'decline' })
      t.strictSame(await server.elicit(elicitation('away')), { action: 'cancel' })
      await t.rejects(server.elicit({ mode: 'form', message: 'Your password?', requestedSchema: { type: 'object', properties: { password: { type: 'string' } } } }), { code: -32602, message: /URL mode only/ })
      await t.rejects(server.elicit(elicitation('bad', 'http://mcp.example.com/')), { code: -32602, data: { reason: 'not_https' } })
    })
  }
}

t.test('CAP-03 a client that declares URL mode alone refuses a form without asking anybody', async t => {
  for (const sdk of Object.keys(SDKS)) {
    const server = await startV1(t)
    const client = createClient(sdk)
    imported.handleUrlElicitation(client, { consent: async () => { throw new Error('asked') } })
    await connectClient(t, client, server, sdk)
    t.strictSame(imported.urlMode, { elicitation: { url: {} } })
    // The server's SDK does not send it, so it comes as a server without the check would send it.
    await t.rejects(server.elicit({ mode: 'form', message: 'Your password?', requestedSchema: { type: 'object', properties: {} } }), /form/)
  }
})

for (const sdk of ['v2 imported', 'v2 required']) {
  const modern = { versionNegotiation: { mode: 'auto' } }

  t.test(`MCP 2026-07-28, Client of ${sdk}: the input that a call requires is asked for, one at a time`, async t => {
    const seen: Answers[] = []
    const url = await startModern(t, answers => {
      seen.push(answers)
      return answers === undefined ? { acme: 'https://mcp.example.com/connect/a', bank: 'https://mcp.example.com/connect/b' } : null
    })
    const client = createClient(sdk, imported.urlMode, modern)
    const opened: string[] = []
    let dialogs = 0
    const { run } = imported.handleUrlElicitation(client, {
      async consent ({ message, server }) {
        t.equal(server, 'asking-modern')
        t.equal(dialogs += 1, 1, 'no other one is open')
        await new Promise(resolve => { setImmediate(resolve) })
        dialogs -= 1
        return message === 'Connect bank.' ? 'decline' : 'open'
      },
      open: url => { opened.push(url) }
    })
    await connectClient(t, client, { url }, sdk)
    t.equal((client as unknown as { getNegotiatedProtocolVersion (): string }).getNegotiatedProtocolVersion(), '2026-07-28')
    await run(async () => await client.callTool({ name: 'list-issues' }))
    t.strictSame(seen.at(-1), { acme: { action: 'accept' }, bank: { action: 'decline' } })
    t.strictSame(opened, ['https://mcp.example.com/connect/a'])
    t.equal(seen.length, 2)
  })

  t.test(`MCP 2026-07-28, Client of ${sdk}: the call ends with what is wrong about a URL, or when the same is asked for again`, async t => {
    let target = 'http://mcp.example.com/'
    const url = await startModern(t, () => ({ acme: target }))
    const client = createClient(sdk, imported.urlMode, modern)
    const opened: string[] = []
    const { run } = imported.handleUrlElicitation(client, { consent: async () => 'open', open: url => { opened.push(url) } })
    await connectClient(t, client, { url }, sdk)
    const call = async (): Promise<unknown> => await run(async () => await client.callTool({ name: 'list-issues' }))
    await t.rejects(call(), { ...FAILED, reason: 'refused_url', refusal: 'not_https' })
    t.strictSame(opened, [])
    target = 'https://mcp.example.com/connect/a'
    await t.rejects(call(), { ...FAILED, reason: 'repeated' })
    t.strictSame(opened, [target])
    await t.rejects(call(), { ...FAILED, reason: 'repeated' }, 'another call may ask for it')
    t.equal(opened.length, 2)
  })
}
