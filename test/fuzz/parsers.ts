import Fastify, { type FastifyRequest } from 'fastify'
import * as fc from 'fast-check'
import { deepStrictEqual, strictEqual } from 'node:assert'
import { randomBytes } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { parse as parseQuery } from 'fast-querystring'
import { z } from 'zod'
import { createCookies, type Cookies } from '../../lib/browser/cookies.js'
import { createSeals } from '../../lib/browser/seals.js'
import { createUrls } from '../../lib/browser/urls.js'
import { addressKey, mayConnect } from '../../lib/ip-address.js'
import { readAuthorizationResponse, readState } from '../../lib/oauth/authorization-response.js'
import { readLabel } from '../../lib/oauth/claims.js'
import type { Configuration } from '../../lib/oauth/configuration.js'
import { readGrant } from '../../lib/oauth/grant.js'
import type { Tokens } from '../../lib/oauth/token-request.js'
import { plainText } from '../../lib/plain-text.js'
import { explainInvalidPrincipal, parsePrincipal } from '../../lib/principal.js'
import { RANDOM_TOKEN, randomToken } from '../../lib/random.js'
import type { Claims, Provider, Registration } from '../../lib/types.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { parseSecret } from '../../lib/vault/secret.js'
import { BASE_URL } from './app.js'
import { applyEdit, edit, text } from './edits.js'
import type { Target } from './fuzz.js'

/** @param run says what became of an input, and throws when that is wrong */
function parser<T> (name: string, inputs: fc.Arbitrary<T>, run: (input: T) => string | Promise<string>): Target<T> {
  return { name, inputs, round: 1000, try: async input => [await run(input)] }
}

function must (hold: boolean, what: string): void {
  if (!hold) throw new Error(`must be: ${what}`)
}

/** Runs what may refuse, with the given codes and no other error. */
function refusable (codes: readonly string[], run: () => string): string {
  try {
    return run()
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (!codes.some(known => code === `FST_MCP_CONNECT_${known}`)) throw error
    return 'refused'
  }
}

/** A text of which something may be genuine. */
const spoiled = (genuine: string): fc.Arbitrary<string> => fc.array(edit, { maxLength: 3 }).map(edits => edits.reduce(applyEdit, genuine))
const long = fc.oneof(text, fc.tuple(fc.oneof(fc.constantFrom(' ', '\t', '=', ';', '.', '*', '-', '%', '\u202E', '\u200B', ':', 'a', 'é'), text), fc.nat({ max: 20_000 })).map(([part, times]) => part.repeat(times).slice(0, 100_000)))
const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, key: fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'then', 'issuer', 'subject')) })

const ring = createKeyRing([randomBytes(32)])
const COOKIE = '__Host-mcp-connect-'

function cookies (): Target {
  let found: Cookies
  const pairs = fc.array(fc.tuple(fc.oneof(fc.constantFrom(`${COOKIE}form`, `${COOKIE}form `, ` ${COOKIE}form`, `\u00A0${COOKIE}form`, `${COOKIE}flow-0123456789abcdef`, '__proto__'), text), fc.oneof(text, long)), { maxLength: 6 })
  return {
    ...parser('parser: cookies', pairs, pairs => refusable(['COOKIE_INVALID'], () => {
      const header = pairs.map(([name, value]) => `${name}=${value}`).join('; ')
      const request = { headers: { cookie: header } } as FastifyRequest
      // As RFC 6265 section 5.4 writes them, and with no other blanks than those of HTTP.
      const own = header.split(';').map(pair => pair.replace(/^[ \t]+/, '')).filter(pair => new RegExp(`^${COOKIE}form[ \t]*(=|$)`).test(pair))
      must(found.names(request, 'flow-').every(name => name.startsWith('flow-')), 'names of that kind')
      const value = found.read(request, 'form')
      strictEqual(own.length, value === undefined ? 0 : 1, 'one cookie, or none')
      must(value === undefined || own[0]!.includes(value), 'its value')
      return value === undefined ? 'none' : 'value'
    })),
    open: async () => { found = await createCookies(Fastify(), true, 'mcp-connect') }
  }
}

function seals (): Target {
  const { seal, open } = createSeals(ring, 'fuzz', 60_000, z.object({ id: z.string() }))
  let genuine = ''
  return {
    ...parser('parser: sealed cookies', fc.tuple(fc.boolean(), fc.array(edit, { maxLength: 3 })), async ([begun, edits]) => {
      const data = await open(edits.reduce(applyEdit, begun ? genuine : ''))
      if (data !== null) deepStrictEqual(data, { id: 'genuine' })
      return data === null ? 'none' : 'genuine'
    }),
    begin: async () => { genuine = await seal({ id: 'genuine' }) }
  }
}

function sealer (): Target {
  const { seal, open, reseal, keyIdOf } = createSealer(ring)
  const sealed = seal('genuine', ['fuzz', 'a'])
  return parser('parser: sealed values', fc.tuple(spoiled(sealed), fc.oneof(fc.constant(['fuzz', 'a']), fc.array(text, { maxLength: 3 }))), ([value, context]) => {
    must(/^([0-9a-f]{16}|of another form)$/.test(keyIdOf(value)), 'the id of a key')
    const genuine = value === sealed && context.join('\n') === 'fuzz\na' && context.length === 2
    const opened = refusable(['SEAL_BROKEN'], () => open(value, context))
    const resealed = refusable(['SEAL_BROKEN'], () => reseal(value, context) ?? 'genuine')
    strictEqual(opened, genuine ? 'genuine' : 'refused')
    strictEqual(resealed, opened)
    return opened
  })
}

const issuer = 'https://login.example.com'
const registration = { name: 'Acme', issuer } as Registration

function state (): Target {
  const query = fc.oneof(fc.array(fc.tuple(fc.oneof(fc.constantFrom('state', 'state', 'state', '__proto__', 'state[]', 'state%00'), text), fc.oneof(spoiled(randomToken()), text)), { maxLength: 4 })
    .map(pairs => parseQuery(pairs.map(pair => pair.join('=')).join('&')) as unknown), anything)
  return parser('parser: state', query, query => refusable(['STATE_INVALID'], () => {
    must(RANDOM_TOKEN.test(readState(query)), 'a state of ours')
    return 'value'
  }))
}

function authorizationResponse (): Target {
  const names = fc.oneof(fc.constantFrom('iss', 'error', 'code', '__proto__', 'iss[]', 'constructor'), text)
  const values = fc.oneof(spoiled(encodeURIComponent(issuer)), fc.constantFrom('access_denied', 'server_error', 'invalid_scope'), long)
  const query = fc.oneof(fc.array(fc.tuple(names, values), { maxLength: 4 }).map(pairs => parseQuery(pairs.map(pair => pair.join('=')).join('&')) as Record<string, unknown>))
  return parser('parser: authorization response', fc.tuple(query, fc.boolean()), ([query, required]) => refusable(['ISS_MISMATCH', 'RESPONSE_INVALID'], () => {
    const configuration = { serverMetadata: () => ({ issuer, authorization_response_iss_parameter_supported: required }) } as Configuration
    const response = readAuthorizationResponse(configuration, registration, query)
    must(query['iss'] === issuer || (!required && query['iss'] === undefined), 'the expected issuer')
    if (response.kind === 'code') must(typeof query['code'] === 'string' && query['error'] === undefined, 'one code')
    if (response.kind === 'error') must(/^[a-z_]+$|^an error of its own$/.test(response.reason), 'a known reason')
    return response.kind
  }))
}

function secret (): Target {
  const values = fc.oneof(spoiled(randomBytes(32).toString('base64')), spoiled(randomBytes(32).toString('hex')), long)
  return parser('parser: secrets', values, value => {
    const bytes = parseSecret(value)
    if (typeof bytes !== 'string') must(bytes.length >= 32, '32 bytes')
    else must(value.length < 16 || !bytes.includes(value), 'a reason that does not repeat it')
    return typeof bytes === 'string' ? 'refused' : 'value'
  })
}

const NOWHERE = { privateHosts: [], loopback: false }

function address (): Target {
  const addresses = fc.oneof(fc.ipV4(), fc.ipV4Extended(), fc.ipV6(), fc.ipV6().chain(spoiled), fc.ipV4().chain(spoiled), long)
  return parser('parser: addresses', addresses, ip => {
    const key = addressKey(ip)
    must(/^([0-9a-f]{8}|[0-9a-f]{16}|no address)$/.test(key), 'a key')
    if (isIPv4(ip)) {
      strictEqual(addressKey(`::ffff:${ip}`), key)
      // No name leads to this machine or this network, in whichever spelling.
      if (/^(0|10|127|169\.254|192\.168)\./.test(ip)) for (const form of [ip, `::ffff:${ip}`, `::${ip}`, `64:ff9b::${ip}`]) must(!mayConnect('a.example', form, NOWHERE), 'nowhere to connect to')
    }
    mayConnect('a.example', ip, NOWHERE)
    return key === 'no address' ? key : `${key.length / 2} bytes`
  })
}

function plain (): Target {
  return parser('parser: plain text', fc.tuple(fc.oneof(long, fc.string({ unit: 'binary' })), fc.integer({ min: 1, max: 200 })), ([text, length]) => {
    const line = plainText(text, length)
    must([...line].length <= length, 'short enough')
    must(!/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(line), 'plain')
    strictEqual(line.trim(), line)
    return line === text ? 'as it was' : 'changed'
  })
}

function urls (): Target {
  const { returnTo, withQueryOf, redirectUri } = createUrls(new URL(BASE_URL), '/connect')
  const inputs = fc.oneof(spoiled(`/connect/${randomToken()}/done`), long, anything)
  return parser('parser: addresses to come back to', inputs, value => {
    const path = returnTo(value)
    must(path === value || path === '/connect', 'what was given, or the connections page')
    const url = new URL(path, BASE_URL)
    strictEqual(url.href, `${BASE_URL}${path}`)
    must(/^\/connect(\/[\w-]{43}(\/done)?)?$/.test(path), 'a page of ours')
    const withQuery = withQueryOf({ url: `/connect/callback/acme?${String(typeof value === 'string' ? value : '')}` } as FastifyRequest, redirectUri('acme'))
    strictEqual(withQuery.origin + withQuery.pathname, redirectUri('acme'))
    return path === value ? 'own' : 'the connections page'
  })
}

const claims = fc.dictionary(fc.oneof(fc.constantFrom('email', 'email_verified', 'preferred_username', 'name', 'sub', '__proto__'), fc.string()), fc.oneof(long, anything))

function grant (): Target {
  const tokens = fc.record({ access_token: text, refresh_token: fc.option(text, { nil: undefined }), scope: fc.option(fc.oneof(long, fc.array(text).map(scopes => scopes.join(' '))), { nil: undefined }), expires_in: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true }), { nil: undefined }), claims: fc.option(claims, { nil: undefined }) })
  return parser('parser: grants and claims', fc.tuple(tokens, fc.array(text, { maxLength: 3 }), fc.constantFrom(' ', ',')), ([{ claims, ...tokens }, asked, scopeSeparator]) => {
    const { scopes, expiresAt } = readGrant({ scopeSeparator } as Provider, tokens as unknown as Tokens, asked)
    must(scopes.length <= asked.length + 100, 'not too many scopes')
    must(expiresAt === undefined || (Number.isFinite(expiresAt) && expiresAt > Date.now()), 'an instant to come')
    const label = readLabel(claims as Claims | undefined ?? {})
    must(label === undefined || (label !== '' && [...label].length <= 100), 'a short name')
    return label === undefined ? 'without a name' : 'with a name'
  })
}

function principal (): Target {
  return parser('parser: principals', anything, value => {
    const parsed = parsePrincipal(value)
    if (parsed !== null) return 'value'
    must(/^what it gave is a promise, and it must not be async$|^its (issuer|subject|tenant) /.test(explainInvalidPrincipal(value)), 'an explanation')
    return 'refused'
  })
}

export function parserTargets (): Target[] {
  return [cookies(), seals(), sealer(), state(), authorizationResponse(), secret(), address(), plain(), urls(), grant(), principal()]
}
