import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { createCompletion } from '../../lib/elicitation/completion.js'
import type { Link } from '../../lib/elicitation/elicitations.js'
import { memoryStore } from '../../lib/index.js'
import { advance } from '../fixtures/clock.js'

const link = (id: string, generation = 1): Link => ({ id, generation, expiresAt: Date.now() + 1000 })
const settled = async (): Promise<void> => await new Promise(resolve => setImmediate(resolve))

t.test('completion: other processes are told by the bus; a broken bus, an odd message or a dead session do no harm', async t => {
  const { bus } = memoryStore()
  const errors: unknown[] = []
  const [here, there] = [await createCompletion(bus, error => errors.push(error)), await createCompletion(bus, error => errors.push(error))]
  const told: string[] = []
  const notify = (name: string) => async (): Promise<void> => { told.push(name) }
  const sessions = Array.from({ length: 5 }, () => ({}))
  here.watch(link('id'), ['asker', 'c'], sessions[0]!, notify('here'))
  here.watch(link('id'), ['asker', 'c'], sessions[0]!, notify('here'))
  there.watch(link('id'), ['asker', 'c'], sessions[1]!, async () => { throw new Error('dead') })
  there.watch(link('id'), ['asker', 'c'], sessions[2]!, notify('there'))
  there.watch(link('other'), ['another', 'd'], sessions[3]!, notify('other'))
  there.watch(link('forgotten'), ['asker', 'c'], sessions[4]!, notify('forgotten'))()
  for (const message of ['', '{', '[]', '{"topic":7}', '{"topic":"x"}', '{"topic":"asker","before":"x"}']) await bus.publish(message)
  here.announce('asker')
  here.announce('asker')
  here.announce('c', 2)
  await settled()
  t.strictSame(told.sort(), ['here', 'there'])
  there.watch(link('later', 2), ['another', 'd'], sessions[4]!, notify('later'))
  here.announce('d', 2)
  await settled()
  t.ok(told.includes('other'), 'whoever waits for the same connection is told as well')
  t.notOk(told.includes('later'), 'but not of a link that was handed out since')

  there.watch(link('late'), ['e'], sessions[3]!, notify('late'))
  await there.close()
  here.announce('e')
  await settled()
  t.notOk(told.includes('late'))
  for (const publish of [async () => { throw new Error('down') }, () => { throw new Error('down') }, () => new Promise<void>(() => {})]) {
    const broken = await createCompletion({ ...bus, publish }, error => errors.push(error))
    broken.watch(link('id'), ['c'], sessions[0]!, notify('still'))
    broken.announce('c')
    await settled()
    await broken.close()
  }
  t.equal(told.filter(name => name === 'still').length, 3)
  t.match(errors, [{ message: 'down' }, { message: 'down' }, { code: 'FST_MCP_CONNECT_STORE_TIMEOUT' }])
  await here.close()
})

t.test('sessions that nobody tells anything are forgotten with their elicitation, without a further call', async t => {
  let tick = (): void => {}
  let keepsAlive = true
  t.intercept(globalThis, 'setInterval', { value: (sweep: () => void) => { tick = sweep; return { unref () { keepsAlive = false } } } })
  const completion = await createCompletion({ publish: async () => {}, subscribe: async () => async () => {} }, () => {})
  t.equal(keepsAlive, false, 'nor does that keep a process alive')
  const told: string[] = []
  const session = {}
  completion.watch(link('old'), ['c'], session, async () => { told.push('old') })
  advance(t, 630_000)
  tick()
  completion.announce('c')
  await settled()
  t.strictSame(told, ['old'], 'who went to the provider in the last moment has ten minutes there, and half a one to finish')

  completion.watch(link('forgotten'), ['c'], session, async () => { told.push('forgotten') })
  advance(t, 632_000)
  completion.watch(link('other'), ['c'], session, async () => { told.push('other') })
  tick()
  completion.announce('c')
  await settled()
  t.strictSame(told, ['old', 'other'])
})

t.test('what was announced is on the bus before the store closes', async t => {
  const published: string[] = []
  const completion = await createCompletion({
    publish: async message => { await settled(); published.push(message) }, subscribe: async () => async () => { published.push('unsubscribed') }
  }, () => {})
  completion.announce('x')
  await completion.close()
  t.strictSame(published, ['{"topic":"x"}', 'unsubscribed'])
})

t.test('a session of which one call gives up still waits with the other', async t => {
  const completion = await createCompletion({ publish: async () => {}, subscribe: async () => undefined as never }, () => {})
  const told: string[] = []
  const session = {}
  const giveUps = ['one', 'two'].map(name => completion.watch(link('id'), ['c'], session, async () => { told.push(name) }))
  giveUps[0]!()
  completion.announce('c')
  await settled()
  t.equal(told.length, 1)
  for (const giveUp of ['three', 'four'].map(name => completion.watch(link('id'), ['c'], session, async () => { told.push(name) }))) giveUp()
  completion.announce('c')
  await settled()
  t.equal(told.length, 1)
  await t.resolves(completion.close(), 'whatever the bus has given back')
})

t.test('a bus that does not answer keeps nobody from closing', async t => {
  const errors: unknown[] = []
  const never = async (): Promise<never> => await new Promise(() => {})
  const completion = await createCompletion({ publish: never, subscribe: async () => never }, error => errors.push(error))
  completion.announce('x')
  await completion.close()
  t.match(errors, [{ code: 'FST_MCP_CONNECT_STORE_TIMEOUT' }, { code: 'FST_MCP_CONNECT_STORE_TIMEOUT' }])
})

t.test('what was told leaves nothing behind', async t => {
  const completion = await createCompletion({ publish: async () => {}, subscribe: async () => async () => {} }, () => {})
  completion.watch(link('id'), ['topic', 'other topic'], {}, async () => {})
  const deleted: unknown[] = []
  const { delete: original } = Map.prototype
  t.intercept(Map.prototype, 'delete', { value: function (this: Map<unknown, unknown>, key: unknown) { deleted.push(key); return original.call(this, key) } })
  completion.announce('topic')
  t.strictSame(deleted, ['id', 'topic', 'other topic'])
  await completion.close()
})

t.test('a session that waits is not kept alive', async t => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const completion = await createCompletion({ publish: async () => {}, subscribe: async () => async () => {} }, () => {})
  const watch = (): WeakRef<object> => {
    const session = {}
    completion.watch(link('id'), ['c'], session, async () => {})
    return new WeakRef(session)
  }
  const session = watch()
  await settled()
  collectGarbage()
  t.equal(session.deref(), undefined)
  await completion.close()
})
