import assert from 'node:assert/strict'
import type { Bus } from '../storage.js'
import { atOnce, contractCase, eventually, randomHash, show, type ContractCase } from './contract.js'

/** What every `Bus` must do while nothing fails. Messages of others are passed over. */
export const busContract: ReadonlyArray<ContractCase<Bus>> = [
  contractCase('a message reaches every subscriber once, as soon as subscribe has returned', async (bus, other) => {
    const message = randomHash()
    const heard = [0, 0, 0]
    const subscriptions = await Promise.all([bus, bus, other].map(async (bus, i) =>
      await bus.subscribe(text => { if (text === message) heard[i]!++ })))
    await bus.publish(message)
    await eventually('every subscriber must hear the message, the publisher\'s own as well', () => heard.every(count => count > 0))
    const listeners = [listen(bus), listen(other)]
    await Promise.all(listeners.map(({ subscribed }) => subscribed))
    const next = randomHash()
    await other.publish(next)
    for (const listener of listeners) await listener.heard(next)
    assert.deepEqual(heard, [1, 1, 1], `a message must be heard once by each subscriber, and was heard ${heard.join(', ')} times`)
    await Promise.all([...subscriptions, ...listeners.map(({ end }) => end)].map(async end => await end()))
  }),

  contractCase('who has ended the subscription hears nothing, and others go on', async (bus, other) => {
    const [stays, goes, elsewhere] = [listen(bus), listen(bus), listen(other)]
    await Promise.all([stays, goes, elsewhere].map(({ subscribed }) => subscribed))
    await goes.end()
    const message = randomHash()
    await other.publish(message)
    await stays.heard(message)
    await elsewhere.heard(message)
    assert.ok(!goes.messages.includes(message), 'a listener must hear nothing once its subscription has ended')
    await stays.end()
    const next = randomHash()
    await other.publish(next)
    await elsewhere.heard(next)
    const again = listen(bus)
    await again.subscribed
    const last = randomHash()
    await other.publish(last)
    await again.heard(last)
    assert.ok(!stays.messages.includes(next) && !stays.messages.includes(last), 'a listener must hear nothing once the last subscription has ended')
    await Promise.all([again.end(), elsewhere.end()])
  }),

  contractCase('one listener can be subscribed twice, and each subscription ends by itself', async (bus, other) => {
    const message = randomHash()
    let heard = 0
    const listener = (text: string): void => { if (text === message) heard++ }
    const [end, endToo] = [await bus.subscribe(listener), await bus.subscribe(listener)]
    const last = listen(bus)
    await last.subscribed
    const hears = async (times: number, when: string): Promise<void> => {
      heard = 0
      await other.publish(message)
      const mark = randomHash()
      await other.publish(mark)
      await last.heard(mark)
      const what = `a listener must hear a message once for each of its subscriptions, ${times} times ${when}`
      await eventually(what, () => heard >= times)
      assert.equal(heard, times, `${what}, and has heard it ${heard} times`)
    }
    await hears(2, 'with two of them')
    await end()
    await hears(1, 'once one has ended')
    await endToo()
    await hears(0, 'once both have ended')
    await last.end()
  }),

  contractCase('a listener can publish, and every message is still heard once', async (bus, other) => {
    const [questions, replies] = [Array.from({ length: 5 }, randomHash), Array.from({ length: 5 }, randomHash)]
    const replying: Array<Promise<void>> = []
    const end = await other.subscribe(message => {
      if (questions.includes(message)) replying.push(other.publish(replies[questions.indexOf(message)]!))
    })
    const listeners = [listen(bus), listen(other)]
    await Promise.all(listeners.map(({ subscribed }) => subscribed))
    for (const message of questions) await bus.publish(message)
    for (const listener of listeners) for (const message of [...questions, ...replies]) await listener.heard(message)
    await Promise.all(replying)
    const mark = randomHash()
    await bus.publish(mark)
    for (const listener of listeners) {
      await listener.heard(mark)
      const times = [...questions, ...replies].map(message => listener.messages.filter(heard => heard === message).length)
      assert.ok(times.every(count => count === 1), `each message must be heard once, also when a listener publishes; they were heard ${times.join(', ')} times`)
    }
    await Promise.all([end, ...listeners.map(({ end }) => end)].map(async end => await end()))
  }),

  contractCase('odd and long messages stay what they are', async (bus, other) => {
    const listener = listen(other)
    await listener.subscribed
    const mark = randomHash()
    const odd = [
      `${mark} "'\\\n\t$1 %s {} \u0001`, ` ${mark} \n`, `${mark} é ü ß 中文 😀`, `${mark} e\u0301`, JSON.stringify({ mark }), JSON.stringify(mark),
      mark + 'x'.repeat(1024 - mark.length)
    ]
    for (const message of odd) await bus.publish(message)
    for (const message of odd) await listener.heard(message)
    await listener.end()
  }),

  contractCase('of 500 messages at once none is lost', async (bus, other) => {
    const listener = listen(other)
    await listener.subscribed
    const messages = Array.from({ length: 500 }, randomHash)
    await atOnce(500, [bus, other], async (bus, i) => await bus.publish(messages[i]!))
    for (const message of messages) await listener.heard(message)
    await listener.end()
  })
]

interface Listener {
  readonly messages: readonly string[]
  readonly subscribed: Promise<unknown>
  heard (message: string): Promise<void>
  end (): Promise<void>
}

function listen (bus: Bus): Listener {
  const messages: string[] = []
  const subscription = bus.subscribe(message => { messages.push(message) })
  return {
    messages,
    subscribed: subscription,
    heard: async message => await eventually(`a listener must hear the message ${show(message)}`, () => messages.includes(message)),
    end: async () => await (await subscription)()
  }
}
