import * as client from 'openid-client'
import t from 'tap'
import { failureReason, isRefusal, knownCode, wasUnsent } from '../../lib/oauth/failure.js'
import { OutboundError } from '../../lib/oauth/outbound.js'

const answered = (body: object): client.ResponseBodyError =>
  new client.ResponseBodyError('canary', { cause: body as { error: string }, response: new Response(null, { status: 400 }) })
const challenged = new client.WWWAuthenticateChallengeError('canary', { cause: [], response: new Response(null, { status: 401 }) })
/** As the library throws it when an answer with status 200 is no access token response. */
const unusable = (body: unknown): client.ClientError => ofLibrary('OAUTH_INVALID_RESPONSE', Object.assign(new Error('canary'), { cause: { body } }))
const ofLibrary = (code: string | undefined, cause?: Error): client.ClientError => Object.assign(new client.ClientError('canary', { cause }), { code })
const TOKEN = new URL('https://acme.example/token')
const broken = (code: unknown): TypeError => new TypeError('fetch failed', { cause: Object.assign(new Error('canary'), { code }) })

t.test('codes of the specifications, and those that a large provider has, are named, and no others', async t => {
  for (const code of ['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client', 'unsupported_grant_type', 'unsupported_response_type', 'invalid_scope',
    'invalid_target', 'access_denied', 'server_error', 'temporarily_unavailable', 'incorrect_client_credentials', 'redirect_uri_mismatch', 'bad_verification_code',
    'unverified_user_email']) t.equal(knownCode(code), code)
  for (const code of ['canary', '', 'Invalid_grant', 'invalid_grant ', 'constructor']) t.equal(knownCode(code), 'an error of its own')
})

t.test('LOG-05 why a request failed, in a word, and nothing that the server wrote', async t => {
  for (const [error, reason] of [
    [answered({ error: 'invalid_grant', error_description: 'canary' }), 'invalid_grant'],
    [answered({ error: 'canary' }), 'an error of its own'],
    [unusable({ error: 'bad_verification_code' }), 'bad_verification_code'],
    [unusable({ error: 'canary' }), 'an error of its own'],
    [unusable({ access_token: 'canary' }), 'OAUTH_INVALID_RESPONSE'],
    [unusable({ error: { canary: 1 } }), 'OAUTH_INVALID_RESPONSE'],
    [unusable('canary'), 'OAUTH_INVALID_RESPONSE'],
    [unusable(null), 'OAUTH_INVALID_RESPONSE'],
    [ofLibrary('OAUTH_TIMEOUT'), 'timeout'],
    [ofLibrary(undefined, broken('ECONNRESET')), 'network_error (ECONNRESET)'],
    [challenged, 'invalid_client'],
    [new OutboundError('answer_too_large', TOKEN), 'answer_too_large'],
    [new OutboundError('not_https', TOKEN), 'not_https'],
    [ofLibrary(undefined, new OutboundError('answer_too_large', TOKEN)), 'answer_too_large'],
    [broken('ENOTFOUND'), 'network_error (ENOTFOUND)'],
    [broken('canary of the server'), 'network_error'],
    [broken(7), 'network_error'],
    [new Error('canary'), 'network_error'],
    [undefined, 'network_error'],
    ['canary', 'network_error']
  ] as const) t.equal(failureReason(error), reason)
})

t.test('whether the server has answered with an error, or may have given something', async t => {
  for (const error of [answered({ error: 'invalid_grant' }), challenged, unusable({ error: 'canary' })]) t.equal(isRefusal(error), true, failureReason(error))
  for (const error of [unusable({ access_token: 'canary' }), unusable(null), broken('ECONNRESET'), ofLibrary('OAUTH_TIMEOUT'),
    new OutboundError('answer_too_large', TOKEN), undefined]) t.equal(isRefusal(error), false, failureReason(error))
})

t.test('whether a request was sent at all', async t => {
  for (const error of [new OutboundError('not_https', TOKEN), new OutboundError('not_public', TOKEN), ofLibrary(undefined, new OutboundError('not_public', TOKEN))]) {
    t.equal(wasUnsent(error, TOKEN.href), true)
    for (const other of ['https://acme.example/jwks', undefined]) t.equal(wasUnsent(error, other), false, 'but for something else')
  }
  for (const error of [new OutboundError('answer_too_large', TOKEN), broken('ECONNRESET'), ofLibrary('OAUTH_TIMEOUT'), answered({ error: 'invalid_grant' }), undefined]) {
    t.equal(wasUnsent(error, TOKEN.href), false)
  }
})
