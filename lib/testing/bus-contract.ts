import assert from 'node:assert/strict'
import type { Bus } from '../types.js'
import { atOnce, contractCase, eventually, randomHash, type ContractCase } from './contract.js'

/** What every `Bus` must do while nothing fails. Messages of others are passed over. */
export const busContract: ReadonlyArray<ContractCase<Bus>> = [
  contractCase('a message reaches every subscriber once, as soon as subscribe has returned', async (bus, other) => {
    const message = randomHash()
    const heard = [0, 0, 0]
    const subscriptions = await Promise.all([bus, bus, other].map(async (bus, i) =>
      await bus.subscribe(text => { if (text === message) heard[i]!++ })))
    await bus.publish(message)
    await eventually('every subscriber must hear the message', () => heard.every(count => count > 0))
    const second = listen(other)
    await second.subscribed
    const next = randomHash()
    await other.publish(next)
    await second.heard(next)
    assert.deepEqual(heard, [1, 1, 1], 'a message must be heard once')
    await Promise.all([...subscriptions, second.end].map(async end => await end()))
  }),

  contractCase('who has ended the subscription hears nothing, and others go on', async (bus, other) => {
    const [stays, goes] = [listen(bus), listen(bus)]
    await Promise.all([stays.subscribed, goes.subscribed])
    await goes.end()
    const message = randomHash()
    await other.publish(message)
    await stays.heard(message)
    assert.ok(!goes.messages.includes(message))
    await stays.end()
    await other.publish(randomHash())
    const again = listen(bus)
    await again.subscribed
    const last = randomHash()
    await other.publish(last)
    await again.heard(last)
    assert.ok(!stays.messages.includes(last))
    await again.end()
  }),

  contractCase('odd and long messages stay what they are', async (bus, other) => {
    const listener = listen(other)
    await listener.subscribed
    const mark = randomHash()
    for (const message of [`${mark} "'\\\n\t$1 %s {} \u0001`, `${mark} é ü ß 中文 😀`, mark + 'x'.repeat(1024 - mark.length)]) {
      await bus.publish(message)
      await listener.heard(message)
    }
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

function listen (bus: Bus): { messages: string[], subscribed: Promise<unknown>, heard (message: string): Promise<void>, end (): Promise<void> } {
  const messages: string[] = []
  const subscription = bus.subscribe(message => { messages.push(message) })
  return {
    messages,
    subscribed: subscription,
    heard: async message => await eventually('a message must be heard', () => messages.includes(message)),
    end: async () => await (await subscription)()
  }
}
