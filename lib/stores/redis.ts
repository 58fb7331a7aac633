import { randomUUID } from 'node:crypto'
import type { Store, Stored } from '../storage.js'
import { createListeners } from './listeners.js'
import { afterCursor, pageOf, type Position } from './page.js'

/** What is needed of a client; those of `ioredis` have it, for one server, Sentinel and Cluster. */
export interface RedisClient {
  get (key: string): Promise<string | null>
  eval (script: string, numberOfKeys: number, ...keysAndArguments: Array<string | number>): Promise<unknown>
  zrangebylex (key: string, min: string, max: string, limit: 'LIMIT', offset: number, count: number): Promise<string[]>
  publish (channel: string, message: string): Promise<number>
  /** Takes options; of a Cluster, nodes to start with and options. */
  duplicate (...args: any[]): RedisSubscriber
  readonly isCluster?: boolean
}

/** A connection of its own, since one that subscribes can do nothing else. */
export interface RedisSubscriber {
  subscribe (channel: string): Promise<unknown>
  on (event: 'message', listener: (channel: string, message: string) => void): unknown
  on (event: 'error', listener: (error: Error) => void): unknown
  disconnect (): void
}

export interface RedisStoreOptions {
  /** Stands before every key, and is the name of the channel. Applications that share a database need different ones. @default 'mcp-connect:' */
  readonly prefix?: string
}

/*
 * Each value is stored with its revision before it, which is a UUID: 36 characters. Each script is one atomic step; an empty
 * revision means that there must be no value, so one that the caller expects is never empty. When an answer is lost, ioredis
 * sends the script again: a put that finds what it has written itself has won. (A delete then says that nothing was there, and an
 * event is counted twice.)
 */
const REVISION_LENGTH = 36
const COMPARE_AND_PUT = `
  local revision = redis.call('GETRANGE', KEYS[1], 0, ${REVISION_LENGTH - 1})
  if revision == string.sub(ARGV[2], 1, ${REVISION_LENGTH}) then return 1 end
  if revision ~= ARGV[1] then return 0 end`
const PUT_STATE = `${COMPARE_AND_PUT}
  if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
  return 1`
const DELETE_STATE = `
  if redis.call('GETRANGE', KEYS[1], 0, ${REVISION_LENGTH - 1}) ~= ARGV[1] then return 0 end
  return redis.call('DEL', KEYS[1])`
const COUNT = `
  local count = redis.call('INCR', KEYS[1])
  if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return { count, redis.call('PTTL', KEYS[1]) }`
const PUT_VAULT = `${COMPARE_AND_PUT}
  redis.call('SET', KEYS[1], ARGV[2])
  redis.call('ZADD', KEYS[2], 0, ARGV[3])
  return 1`
const DELETE_VAULT = `
  if redis.call('GETRANGE', KEYS[1], 0, ${REVISION_LENGTH - 1}) ~= ARGV[1] then return 0 end
  redis.call('ZREM', KEYS[2], ARGV[2])
  return redis.call('DEL', KEYS[1])`

/** The vault's entries are spread over so many lists, by the first two digits of the owner. */
const LISTS = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'))

/**
 * Keeps everything in Redis 6 or newer, on one server or a cluster. The client stays yours to close.
 * As a vault, Redis must keep what it has: with `appendonly yes`, and without evicting keys.
 * @param client of `ioredis`
 */
export function redisStore (client: RedisClient, { prefix = 'mcp-connect:' }: RedisStoreOptions = {}): Store {
  const channel = prefix
  const stateKey = (key: string): string => `${prefix}state:${key}`
  // An entry and the list that it stands in have one hash tag, and so lie on one node of a cluster.
  const listOf = (owner: string): string => owner.slice(0, 2)
  const listKey = (list: string): string => `${prefix}{vault-${list}}`
  const entryKey = (owner: string, name: string): string => `${listKey(listOf(owner))}:${owner}.${name}`
  let subscription: { readonly subscriber: RedisSubscriber, readonly ready: Promise<unknown> } | undefined
  const listeners = createListeners()

  async function find (key: string): Promise<Stored | null> {
    const text = await client.get(key)
    return text === null ? null : { value: text.slice(REVISION_LENGTH), revision: text.slice(0, REVISION_LENGTH) }
  }

  async function run (script: string, keys: readonly string[], ...values: Array<string | number>): Promise<boolean> {
    return await client.eval(script, keys.length, ...keys, ...values) === 1
  }

  function subscribe (): { readonly subscriber: RedisSubscriber, readonly ready: Promise<unknown> } {
    // Whatever the client's own are: without these, subscribing fails before it is connected, and ends with the connection.
    const options = { enableOfflineQueue: true, autoResubscribe: true }
    const subscriber = client.isCluster === true ? client.duplicate([], options) : client.duplicate(options)
    subscriber.on('error', () => {})     // it connects again by itself, and subscribes again; the given client tells its owner
    subscriber.on('message', (_channel, message) => listeners.tell(message))
    return { subscriber, ready: subscriber.subscribe(channel) }
  }

  function unsubscribe (): void {
    if (listeners.size > 0) return
    subscription?.subscriber.disconnect()
    subscription = undefined
  }

  return {
    vault: {
      get: (owner, name) => find(entryKey(owner, name)),
      async put (owner, name, value, expected) {
        const revision = randomUUID()
        const keys = [entryKey(owner, name), listKey(listOf(owner))]
        return await run(PUT_VAULT, keys, expected?.padEnd(REVISION_LENGTH) ?? '', revision + value, `${owner}.${name}`) ? revision : null
      },
      delete: (owner, name, expected) => run(DELETE_VAULT, [entryKey(owner, name), listKey(listOf(owner))], expected, `${owner}.${name}`),
      async list ({ owner, cursor, limit }) {
        const after = afterCursor(cursor)
        const first = { ...after, ...owner !== undefined && { owner } }
        const max = owner === undefined ? '+' : `(${owner}/`     // "/" is what comes after "."
        const lists = owner === undefined ? LISTS.filter(list => list >= listOf(first.owner)) : [listOf(owner)]
        const found: Position[] = []
        // One list, then two at once, then four: in a large vault the first holds a page; in a small one most lists are empty.
        for (let start = 0, count = 1; start < lists.length && found.length <= limit; start += count, count *= 2) {
          const pages = await Promise.all(lists.slice(start, start + count).map(async list =>
            await client.zrangebylex(listKey(list), `(${first.owner}.${first.name}`, max, 'LIMIT', 0, limit + 1 - found.length)))
          found.push(...pages.flat().map(afterCursor))
        }
        return pageOf(found, limit)
      }
    },

    state: {
      get: key => find(stateKey(key)),
      async put (key, value, expected, ttlMs) {
        const revision = randomUUID()
        return await run(PUT_STATE, [stateKey(key)], expected?.padEnd(REVISION_LENGTH) ?? '', revision + value, ttlMs === undefined ? '' : Math.ceil(ttlMs)) ? revision : null
      },
      delete: (key, expected) => run(DELETE_STATE, [stateKey(key)], expected),
      async count (key, windowMs) {
        const [count, resetMs] = await client.eval(COUNT, 1, `${prefix}count:${key}`, Math.ceil(windowMs)) as [number, number]
        return { count, resetMs }
      }
    },

    bus: {
      async publish (message) {
        await client.publish(channel, message)
      },
      async subscribe (listener) {
        const remove = listeners.add(listener)
        const end = async (): Promise<void> => {
          remove()
          unsubscribe()
        }
        try {
          subscription ??= subscribe()
          await subscription.ready
        } catch (error) {
          await end()
          throw error
        }
        return end
      }
    },

    async close () {
      listeners.clear()
      unsubscribe()
    }
  }
}
