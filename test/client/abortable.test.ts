import { getEventListeners } from 'node:events'
import t from 'tap'
import { abortable } from '../../lib/client/abortable.js'

const never = new Promise<never>(() => {})

t.test('work is waited for until its signal is aborted, and not at all where it is aborted already', async t => {
  t.equal(await abortable(Promise.resolve('done'), undefined), 'done')
  const controller = new AbortController()
  const waiting = abortable(never, controller.signal)
  controller.abort(new Error('gone'))
  await t.rejects(waiting, { message: 'gone' })
  const late = Promise.race([abortable(never, controller.signal), new Promise(resolve => { setImmediate(resolve, 'still waiting') })])
  await t.rejects(late, { message: 'gone' })
  await t.rejects(abortable(Promise.reject(new Error('failed')), new AbortController().signal), { message: 'failed' })
})

t.test('no wait leaves a listener', async t => {
  const { signal } = new AbortController()
  await abortable(Promise.resolve(), signal)
  await abortable(Promise.reject(new Error('failed')), signal).catch(() => {})
  t.strictSame(getEventListeners(signal, 'abort'), [])
})
