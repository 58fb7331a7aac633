import t, { type Test } from 'tap'
import { handleUrlElicitation, type UrlElicitation, type UrlElicitationOptions } from '../../lib/client/index.js'
import { elicitation, startModern, startV1 } from '../fixtures/asking-server.js'
import { connectClient, createClient, type SdkClient } from '../fixtures/sdk-clients.js'

t.setTimeout(400_000)
/** What does not come to an end turns red, and does not keep the others from running. tap writes into what it is given: each test has a copy. */
const LIMITED = { timeout: 60_000 }

const REQUESTS: Readonly<Record<string, (client: SdkClient) => Promise<object>>> = {
  tool: async client => await client.callTool({ name: 'list-issues' }),
  prompt: async client => await client.getPrompt({ name: 'triage' }),
  resource: async client => await client.readResource({ uri: 'acme://issues' })
}

/** How what the server asks for does not end well. */
const ENDINGS: Readonly<Record<string, Partial<UrlElicitationOptions>>> = {
  declined: { consent: async () => 'decline' },
  cancelled: { consent: async () => 'cancel' },
  not_opened: { open: () => { throw new Error('no browser') } },
  timed_out: { open: () => {}, done: async () => { await new Promise(() => {}) }, timeoutMs: 20 }
}

interface Connected {
  readonly client: SdkClient
  readonly handle: UrlElicitation
}

/** How a call ends, by the actions with which what it asked for was answered, one round each. */
type Finish = (actions: ReadonlyArray<string | undefined>) => void

/** A server that asks for something in each of some rounds within a call, and a client of it. */
const REVISIONS: Readonly<Record<string, (t: Test, rounds: number, finish: Finish, options: Partial<UrlElicitationOptions>) => Promise<Connected>>> = {
  async '2025-11-25' (t, rounds, finish, options) {
    const server = await startV1(t, async relatedRequestId => {
      const actions: Array<string | undefined> = []
      for (let round = 0; round < rounds; round += 1) {
        const { action } = await server.elicit(elicitation(`n${round}`), { relatedRequestId }) as { action: string }
        actions.push(action)
      }
      finish(actions)
      return null
    })
    const client = createClient()
    const handle = handleUrlElicitation(client, { consent: async () => 'open', open: async url => { await server.complete(url.split('/').at(-1)!) }, ...options })
    await connectClient(t, client, server)
    return { client, handle }
  },
  async '2026-07-28' (t, rounds, finish, options) {
    let actions: Array<string | undefined> = []
    const url = await startModern(t, answers => {
      if (answers === undefined) actions = []
      else actions.push(answers.acme?.action)
      if (actions.length < rounds) return { acme: `https://mcp.example.com/connect/${actions.length}` }
      finish(actions)
      return null
    })
    const client = createClient('v2 imported', undefined, { versionNegotiation: { mode: 'auto' } })
    const handle = handleUrlElicitation(client, { consent: async () => 'open', open: () => {}, ...options })
    await connectClient(t, client, { url }, 'v2 imported')
    return { client, handle }
  }
}

const refuse: Finish = () => { throw new Error('This needs a connection') }

for (const [revision, set] of Object.entries(REVISIONS)) {
  for (const [reason, options] of Object.entries(ENDINGS)) {
    t.test(`${revision}: a call whose elicitation was ${reason} ends with that, if it fails`, { ...LIMITED }, async t => {
      const { client, handle } = await set(t, 1, refuse, options)
      for (const [name, request] of Object.entries(REQUESTS)) {
        await t.rejects(handle.run(async () => await request(client)), { code: 'FST_MCP_CONNECT_URL_ELICITATION', reason }, name)
      }
    })
  }

  t.test(`${revision}: what came of it in spite of a decline stands`, { ...LIMITED }, async t => {
    const seen: unknown[] = []
    const { client, handle } = await set(t, 1, actions => { seen.push(...actions) }, ENDINGS.declined!)
    for (const [name, request] of Object.entries(REQUESTS)) {
      const result = await handle.run(async () => await request(client))
      t.notMatch(result, { isError: true }, name)
    }
    t.strictSame(seen, ['decline', 'decline', 'decline'])
  })

  t.test(`${revision}: the last round counts`, { ...LIMITED }, async t => {
    let answers: Array<'decline' | 'open'> = []
    const { client, handle } = await set(t, 2, refuse, { consent: async () => answers.shift()! })
    const run = async (...consent: typeof answers): Promise<unknown> => {
      answers = consent
      return await handle.run(async () => await client.callTool({ name: 'list-issues' }))
    }
    t.match(await run('decline', 'open'), { isError: true, content: [{ text: /needs a connection/ }] })
    await t.rejects(run('open', 'decline'), { code: 'FST_MCP_CONNECT_URL_ELICITATION', reason: 'declined' })
  })

  t.test(`${revision}: a failure after everything ended well is passed on, and so is one where nothing was asked for`, { ...LIMITED }, async t => {
    for (const rounds of [0, 1]) {
      const { client, handle } = await set(t, rounds, refuse, {})
      t.match(await handle.run(async () => await client.callTool({ name: 'list-issues' })), { isError: true })
      await t.rejects(handle.run(async () => await client.getPrompt({ name: 'triage' })), /needs a connection/)
    }
  })
}

t.test('2025-11-25: a call that fails since its elicitation was refused ends with that', { ...LIMITED }, async t => {
  const server = await startV1(t, async relatedRequestId => {
    await server.elicit(elicitation('a', 'https://10.0.0.1/'), { relatedRequestId })
    return null
  })
  const client = createClient()
  const handle = handleUrlElicitation(client, { consent: async () => { throw new Error('asked') } })
  await connectClient(t, client, server)
  await t.rejects(handle.run(async () => await client.callTool({ name: 'list-issues' })), { code: 'FST_MCP_CONNECT_URL_ELICITATION', reason: 'refused_url', refusal: 'private_address' })
})
