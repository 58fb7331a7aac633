import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { memoryStore, type Bus } from '../../lib/index.js'
import { busContract } from '../../lib/testing/index.js'
import { assertCaught, broken, type Broken, type BrokenByCase } from './broken.js'

t.setTimeout(400_000)

const bus = (faults: (good: Bus) => Partial<Bus>): Broken<Bus> => broken('bus', faults)
const sent = (change: (message: string) => string): Broken<Bus> => bus(good => ({ publish: async message => await good.publish(change(message)) }))
const LATE_MS = 20_000     // more than the contract's patience

const table: BrokenByCase<Bus> = {
  'a message reaches every subscriber once, as soon as subscribe has returned': {
    'delivered twice': bus(good => ({ publish: async message => { await good.publish(message); await good.publish(message) } })),
    'delivered to the first subscriber alone': bus(good => {
      let taken = false
      return { subscribe: async listener => { const first = !taken; taken = true; return await good.subscribe(message => { if (first) listener(message) }) } }
    }),
    'subscribe returns before it listens': bus(good => ({
      async subscribe (listener) {
        const end = setTimeout(LATE_MS, undefined, { ref: false }).then(async () => await good.subscribe(listener))
        return async () => await (await end)()
      }
    })),
    'not delivered to the process that publishes': () => {
      const { bus: good } = memoryStore()
      let processes = 0
      return () => {
        const id = `${processes++} `
        return {
          publish: async message => await good.publish(id + message),
          subscribe: async listener => await good.subscribe(message => { if (!message.startsWith(id)) listener(message.slice(id.length)) })
        }
      }
    },
    'delivered again by the process that publishes': () => {
      const { bus: good } = memoryStore()
      return () => {
        const own = new Set<(message: string) => void>()
        return {
          async publish (message) { for (const listener of own) listener(message); await good.publish(message) },
          async subscribe (listener) { own.add(listener); return await good.subscribe(listener) }
        }
      }
    }
  },
  'who has ended the subscription hears nothing, and others go on': {
    'still delivered after the end': bus(good => ({ subscribe: async listener => { await good.subscribe(listener); return async () => {} } })),
    'the end of one ends all': bus(good => {
      const ends: Array<() => Promise<void>> = []
      return { subscribe: async listener => { ends.push(await good.subscribe(listener)); return async () => { for (const end of ends) await end() } } }
    }),
    'the last one is never ended': bus(good => {
      let count = 0
      return { async subscribe (listener) { const end = await good.subscribe(listener); count++; return async () => { if (--count > 1) await end() } } }
    }),
    'nobody can subscribe after an end': bus(good => {
      let ended = false
      return { subscribe: async listener => { const late = ended; const end = await good.subscribe(message => { if (!late) listener(message) }); return async () => { ended = true; await end() } } }
    })
  },
  'one listener can be subscribed twice, and each subscription ends by itself': {
    'heard once': bus(good => {
      const listeners = new Set<(message: string) => void>()
      return {
        async subscribe (listener) {
          const known = listeners.has(listener)
          listeners.add(listener)
          return known ? async () => {} : await good.subscribe(listener)
        }
      }
    }),
    'the end of one ends both': bus(good => {
      const ends: Array<readonly [listener: unknown, end: () => Promise<void>]> = []
      return {
        async subscribe (listener) {
          ends.push([listener, await good.subscribe(listener)])
          return async () => { for (const [one, end] of ends) if (one === listener) await end() }
        }
      }
    })
  },
  'a listener can publish, and every message is still heard once': {
    'delivered again by the one that was at it': () => {
      const rows: string[] = []
      return () => {
        const listeners = new Set<(message: string) => void>()
        let heard = 0
        const poll = (): void => {
          for (const message of rows.slice(heard)) {
            heard = rows.indexOf(message) + 1
            for (const listener of listeners) listener(message)
          }
        }
        let poller: NodeJS.Timeout | undefined
        return {
          async publish (message) { rows.push(message); poll() },
          async subscribe (listener) {
            listeners.add(listener)
            poller ??= setInterval(poll, 20).unref()
            return async () => { listeners.delete(listener); if (listeners.size === 0) clearInterval(poller) }
          }
        }
      }
    },
    'what is published meanwhile is dropped': bus(good => {
      let delivering = false
      return {
        async publish (message) { if (!delivering) await good.publish(message) },
        subscribe: async listener => await good.subscribe(message => { delivering = true; listener(message); delivering = false })
      }
    })
  },
  'odd and long messages stay what they are': {
    'cut at 256': sent(message => message.slice(0, 256)),
    'cut at 1,023': sent(message => message.slice(0, 1023)),
    'other characters than ASCII are mangled': sent(message => Buffer.from(message, 'latin1').toString('latin1')),
    trimmed: sent(message => message.trim()),
    'composed to NFC': sent(message => message.normalize('NFC')),
    'cut at the end of the line': sent(message => message.split('\n')[0]!),
    'read as JSON': sent(message => { try { return JSON.parse(message) } catch { return message } }),
    'control characters are left out': sent(message => message.replaceAll('\u0001', ''))
  },
  'of 500 messages at once none is lost': {
    'more than 100 at once are dropped': bus(good => {
      let waiting = 0
      return { async publish (message) { if (++waiting <= 100) await good.publish(message); await Promise.resolve(); waiting-- } }
    }),
    'each millisecond the latest alone is sent': bus(good => {
      let latest: string | undefined
      return { async publish (message) { latest = message; await setTimeout(1); if (latest === message) await good.publish(message) } }
    })
  }
}

t.test('each case of the bus contract catches what it is there for', async t => {
  await assertCaught(t, busContract, bus(() => ({})), table)
})
