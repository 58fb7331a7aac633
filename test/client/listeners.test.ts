import t from 'tap'
import { handleUrlElicitation, type McpClientLike, type UrlElicitation, type UrlElicitationOptions } from '../../lib/client/index.js'

interface Scripted {
  readonly client: McpClientLike & { onclose?: (() => void) | undefined }
  readonly handle: UrlElicitation
  /** What the server of this client sends. */
  create (params: object): Promise<object>
  complete (params: unknown): void
}

/** A client with nothing behind it, which remembers its handlers: what an SDK would check first comes through. */
function script (options: Partial<UrlElicitationOptions>, onclose?: () => void): Scripted {
  const handlers = new Map<string, (message: { params: unknown }) => Promise<object>>()
  const remember = (method: unknown, handler: never): void => { handlers.set(String(method), handler) }
  const client = {
    onclose,
    getServerVersion: () => ({ name: 'server' }),
    assertCanSetRequestHandler () {},
    setRequestHandler: remember,
    setNotificationHandler: remember,
    removeRequestHandler: (method: string) => { handlers.delete(method) },
    removeNotificationHandler: (method: string) => { handlers.delete(method) }
  }
  const handle = handleUrlElicitation(client, { consent: async () => 'open', open: () => {}, ...options })
  return {
    client,
    handle,
    create: async params => await handlers.get('elicitation/create')!({ params }),
    complete: params => { handlers.get('notifications/elicitation/complete')!({ params }) }
  }
}

/** Whether it is so once everything that can go on has gone on. */
async function settled<T> (work: Promise<T>): Promise<T | 'waiting'> {
  return await Promise.race([work, new Promise<'waiting'>(resolve => { setImmediate(() => setImmediate(resolve, 'waiting')) })])
}

t.test('a completion without an id is that of nothing, not even of what has no id', async t => {
  const { create, complete, handle } = script({ done: async () => { await new Promise(() => {}) } })
  const answer = create({ mode: 'url', url: 'https://mcp.example.com/connect/a', message: '' })
  answer.catch(() => {})
  for (const params of [undefined, {}, { elicitationId: null }, { elicitationId: 7 }]) complete(params)
  t.equal(await settled(answer), 'waiting')
  handle.close()
  await t.rejects(answer)
})

t.test('whoever listened for the end of the connection before still hears it; who listens since is not taken off', async t => {
  const told: string[] = []
  const { client, handle } = script({}, () => told.push('before'))
  client.onclose!()
  t.strictSame(told, ['before'])
  const since = (): void => {}
  client.onclose = since
  handle.close()
  t.equal(client.onclose, since)

  const before = (): void => {}
  const other = script({}, before)
  other.handle.close()
  t.equal(other.client.onclose, before, 'as it was')
})
