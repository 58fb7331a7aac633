import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

/** What each room may import of the others; files directly in lib/ are rooms of one file. Below all of them lies the floor. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  index: ['plugin', 'oidc-login', 'providers', 'stores'],
  plugin: ['options', 'start-up', 'oidc-login', 'adapters', 'guard', 'browser', 'elicitation', 'connections', 'oauth', 'state', 'vault', 'ops', 'providers'],
  options: ['oidc-login', 'providers', 'vault'],
  'start-up': ['options', 'adapters', 'stores'],
  'oidc-login': [],
  adapters: [],
  guard: ['elicitation', 'connections'],
  browser: ['elicitation', 'connections', 'oauth', 'state', 'vault'],
  elicitation: ['state'],
  state: ['vault'],
  connections: ['oauth', 'state', 'vault'],
  oauth: [],
  vault: [],
  ops: [],
  providers: [],
  stores: [],
  endpoint: ['oauth'],
  client: [],
  testing: []
}
const FLOOR = ['types', 'account', 'limits', 'audit-events', 'decorator', 'storage', 'errors', 'schemas', 'registration', 'client-registration', 'private-key', 'principal', 'encoding', 'random', 'compare-and-set', 'plain-text', 'loopback',
  'ip-address', 'with-timeout', 'host-answer', 'mcp-sdks', 'package-copies']

/** Which room a third-party library lives in. zod is the schema language of options and records everywhere. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  'openid-client': ['oauth'],
  jose: ['oauth'],
  'ipaddr.js': ['ip-address'],
  undici: ['oauth'],
  'iron-session': ['browser'],
  '@fastify/cookie': ['browser'],
  '@fastify/formbody': ['browser'],
  ghtml: ['browser'],
  'fastify-plugin': ['plugin'],
  '@fastify/error': ['errors'],
  zod: ['options', 'endpoint', 'client', 'guard', 'browser', 'elicitation', 'oauth', 'providers', 'oidc-login', 'principal', 'schemas', 'registration', 'private-key']
}

const lib = join(import.meta.dirname, '../lib')
const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter(file => /\.m?ts$/.test(file))
const roomOf = (file: string): string => file.split('/')[0]!.replace(/\.m?ts$/, '')

/** The files of lib that a file imports. */
function importsOf (file: string): string[] {
  return [...readFileSync(join(lib, file), 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)].map(([, target = '']) =>
    relative(lib, join(lib, dirname(file), target)).replace(/\.(m?)js$/, '.$1ts'))
}

t.test('imports between rooms go down, and no further than they need', async t => {
  const used = new Map<string, Set<string>>()
  for (const file of files) {
    const room = roomOf(file)
    for (const target of importsOf(file)) {
      const other = roomOf(target)
      if (other === room) continue
      if (FLOOR.includes(other)) continue
      t.ok(ROOMS[room]?.includes(other), `${file} imports ${target}`)
      used.set(room, (used.get(room) ?? new Set()).add(other))
    }
  }
  for (const [room, allowed] of Object.entries(ROOMS)) {
    t.strictSame([...used.get(room) ?? []].sort(), [...allowed].sort(), `${room} uses all that it may use`)
  }
})

t.test('nor do they go in circles, within a room either', async t => {
  const done = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    const cycle = path.includes(file)
    if (cycle) t.fail([...path, file].join(' > '))
    if (cycle || done.has(file)) return
    for (const target of importsOf(file)) {
      t.ok(files.includes(target), `${file} imports ${target}`)
      walk(target, [...path, file])
    }
    done.add(file)
  }
  for (const file of files) walk(file, [])
})

t.test('every file stands in a known room', async t => {
  for (const file of files) t.ok(FLOOR.includes(roomOf(file)) || roomOf(file) in ROOMS, file)
})

t.test('a third-party library is imported in one place', async t => {
  for (const file of files) {
    for (const [line, name = ''] of readFileSync(join(lib, file), 'utf8').matchAll(/^import .*from '([^.'][^']*)'/gm)) {
      if (name.startsWith('node:')) continue
      if (name === 'fastify') t.match(line, /^import type /, `${file} needs no more of fastify than types`)
      else t.ok(LIBRARIES[name]?.includes(roomOf(file)), `${file} imports ${name}`)
    }
  }
})

t.test('a file is one concern', async t => {
  for (const file of files) t.ok(readFileSync(join(lib, file), 'utf8').split('\n').length <= 300, file)
})
