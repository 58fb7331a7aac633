import t from 'tap'
import type { McpConnectOptions } from '../../lib/types.js'
import { issuesServer, modernCaller } from '../fixtures/modern.js'
import { A, startServer } from '../fixtures/server.js'

/** What JavaScript lets a host answer to a question of yes or no, each of which is true to an `if`. */
const ANSWERS: ReadonlyArray<readonly [unknown, RegExp]> = [
  ['no', /a value of type string/], [1, /a value of type number/], [{ allowed: false }, /a value of type object/]
]

async function ask (t: Parameters<typeof startServer>[0], options: object): Promise<{ readonly result: Record<string, unknown> | undefined, readonly log: string }> {
  const server = await startServer(t, options as Partial<McpConnectOptions>)
  const { result } = await modernCaller(t, A, () => issuesServer(server)).call('tools/call', { name: 'issues' })
  return { result, log: server.log.join('') }
}

const TROUBLE = { resultType: 'complete', isError: true, content: [{ text: /could not be looked up/ }] }

t.test('clientSupportsUrl is asked at once: a promise, or whatever else is no yes or no, hands out no link, and the operator is told', async t => {
  const answers: ReadonlyArray<readonly [() => unknown, RegExp]> = [
    [async () => false, /a promise: it is asked at once/],
    [async () => { throw new Error('its own') }, /a promise: it is asked at once/],
    ...ANSWERS.map(([answer, message]) => [() => answer, message] as const)
  ]
  for (const [clientSupportsUrl, message] of answers) {
    const { result, log } = await ask(t, { clientSupportsUrl })
    t.match(result, TROUBLE)
    t.match(log, /clientSupportsUrl must answer true or false, and not .*FST_MCP_CONNECT_OPTIONS/)
    t.match(log, message)
  }
})

t.test('authorize may be waited for, and what is no yes or no lets nobody through', async t => {
  for (const [answer, message] of [...ANSWERS, [undefined, /and not undefined/], [null, /and not null/]] as const) {
    for (const authorize of [() => answer, async () => answer]) {
      const { result, log } = await ask(t, { authorize })
      t.match(result, TROUBLE)
      t.match(log, /authorize must answer true or false/)
      t.match(log, message)
    }
  }
  t.match((await ask(t, { authorize: async () => true })).result, { resultType: 'input_required' })
  t.match((await ask(t, { authorize: async () => false })).result, { isError: true, content: [{ text: /not allowed/ }] })
})
