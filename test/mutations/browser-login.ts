/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const LOGIN = ['test/browser/login.test.ts']
const IDENTITY = ['test/browser/identity.test.ts']
const PLUGIN = ['test/plugin.test.ts']
const LIMITS = ['test/browser/limits.test.ts']

/** Who is in front of the browser: our own login, the host's, and how much of either is let through. */
export const login = [
  ...mutationsOf('lib/browser/login/create-login.ts', LOGIN,
    { name: 'a public client signs people in at a server that may ignore the challenge', find: 'assumesS256: oidc.clientSecret !== undefined', replace: 'assumesS256: true', tests: IDENTITY },
    { name: 'a server that does not announce PKCE is no login', find: 'assumesS256: oidc.clientSecret !== undefined', replace: 'assumesS256: false', tests: IDENTITY },
    { name: 'whoever wants another account is not asked for one', find: "startUrl({ returnTo, switch: 'true' })", replace: 'startUrl({ returnTo })' },
    { name: 'the way back after signing in is not encoded', find: 'new URLSearchParams(parameters).toString()', replace: 'Object.entries(parameters).map(pair => pair.join("=")).join("&")' }
  ),
  ...mutationsOf('lib/browser/login/login-handlers.ts', LOGIN,
    { name: 'an answer that the browser loads in advance, or inside of a page, signs in', find: 'assertNavigation(request)', replace: '', tests: ['test/browser/navigation.test.ts'] },
    { name: 'claims that make no principal sign somebody in', find: 'if (principal === null) throw new IdentityInvalidError', replace: 'if (principal === null && made === null) throw new IdentityInvalidError', tests: IDENTITY },
    { name: 'the state of a sign-in can be guessed', find: 'const state = randomToken()', replace: "const state = 's'.repeat(43)" },
    { name: 'the nonce of the id_token is not compared', find: 'state, codeVerifier, nonce }', replace: 'state, codeVerifier }' },
    { name: 'it leads back to wherever somebody says', find: 'returnTo: urls.returnTo(returnTo) }', replace: 'returnTo: String(returnTo) }' },
    { name: 'anything asks for another account', find: "switchAccount === 'true' && {", replace: 'switchAccount !== null && {', tests: IDENTITY },
    { name: 'an answer that another browser began signs in', find: 'own?.issuer !== issuer || own.clientId !== clientId', replace: 'own !== null && (own.issuer !== issuer || own.clientId !== clientId)' },
    { name: 'an answer to a request at another issuer signs in', find: 'own?.issuer !== issuer || own.clientId !== clientId', replace: 'own?.clientId !== clientId' },
    { name: 'an answer to a request of another client signs in', find: 'own?.issuer !== issuer || own.clientId !== clientId', replace: 'own?.issuer !== issuer' },
    { name: 'an answer counts as often as it comes', find: 'if (!await pending.claim(reply, state)) return reply.redirect(returnTo, 303)', replace: 'await pending.claim(reply, state)' },
    {
      name: 'an answer is spent before it is read',
      find: 'const answer = readAuthorizationResponse(metadata, registration, request.query)',
      replace: 'const claimed = await pending.claim(reply, state)\n      const answer = readAuthorizationResponse(metadata, registration, request.query)',
      also: [{ find: 'if (!await pending.claim(reply, state)) return', replace: 'if (!claimed) return' }]
    },
    { name: 'who refuses to sign in is signed in', find: "if (answer.kind === 'denied') throw new SignInDeclinedError()", replace: "if (answer.kind === 'denied') return reply.redirect(returnTo, 303)" },
    { name: 'an error of the authorization server is not told', find: "if (answer.kind === 'error') throw new SignInFailedError(answer.reason)", replace: "if (answer.kind === 'error') return reply.redirect(returnTo, 303)" },
    { name: 'the page to come back to is forgotten when signing in fails', find: 'remember(request, { returnTo })', replace: '' },
    { name: 'somebody else can sign a user out', find: "await forms.check(request, principal, ['sign out'])", replace: '' },
    { name: 'signing out ends no session', find: 'await session.end(request, reply)', replace: '' },
    { name: 'the forms that were shown are good after signing out', find: 'forms.close(request, reply)', replace: '' },
    { name: 'who is signed in is told to be signed out', find: 'if (recall(request).visitor !== null) return', replace: 'if (recall(request).visitor === undefined) return' },
    { name: 'an answer without a state is told in the words of a connection', find: "['STATE_INVALID', 'RESPONSE_INVALID']", replace: "['RESPONSE_INVALID']" },
    { name: 'an answer without a code is told in the words of a connection', find: "['STATE_INVALID', 'RESPONSE_INVALID']", replace: "['STATE_INVALID']" },
    { name: 'a made-up code is told as a fault', find: 'if (wasBadCode(error)) throw', replace: 'if (error === null) throw' },
    { name: 'a failed exchange is told in the words of a connection', find: "['EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED']", replace: "['PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED']" },
    { name: 'a server that is away is told in the words of a connection', find: "['EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED']", replace: "['EXCHANGE_FAILED', 'PROVIDER_MISCONFIGURED']" },
    { name: 'wrong metadata are told in the words of a connection', find: "['EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED']", replace: "['EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE']", tests: ['test/browser/login.test.ts', 'test/browser/identity.test.ts'] }
  ),
  ...mutationsOf('lib/browser/login/pending-sign-ins.ts', LOGIN,
    { name: 'an attempt may be completed with the cookie of another', find: 'pending?.state === state ? pending : null', replace: 'pending' },
    { name: 'an attempt has no end', find: '`${cookies.beginning} login`, LIFETIME_MS', replace: '`${cookies.beginning} login`, 100 * LIFETIME_MS' },
    { name: 'the cookie of an attempt has no end', find: "createBindingCookies(cookies, 'login', LIFETIME_MS)", replace: "createBindingCookies(cookies, 'login', 100 * LIFETIME_MS)" },
    { name: 'the cookie of an attempt is not taken back', find: 'bindingCookies.clear(reply, state)', replace: '' },
    { name: 'of all that claim an attempt each gets it', find: '{}, null, LIFETIME_MS) !== null', replace: '{}, null, LIFETIME_MS) !== undefined' },
    { name: 'that an attempt was claimed is forgotten before its end', find: '{}, null, LIFETIME_MS)', replace: '{}, null, 1)' },
    { name: 'the state of a sign-in is stored in the clear', find: "hashFields('login state', state)", replace: 'state' },
    { name: 'instances of the plugin share their attempts', find: '`${cookies.beginning} login`', replace: "'login'" }
  ),
  ...mutationsOf('lib/browser/login/session-cookie.ts', LOGIN,
    { name: 'a session of another instance of the plugin counts', find: "cookies.beginning, 'session'", replace: "'session'" },
    { name: 'a session that another issuer has begun counts', find: "'session', issuer, clientId, resource]", replace: "'session', clientId, resource]" },
    { name: 'a session that another client has begun counts', find: "'session', issuer, clientId, resource]", replace: "'session', issuer, resource]" },
    { name: 'a session that was begun for another resource counts', find: "'session', issuer, clientId, resource]", replace: "'session', issuer, clientId]" },
    { name: 'the session before goes on when somebody signs in again', find: 'if (old !== undefined) await sessions.end(old)', replace: '' },
    { name: 'whoever signs in again keeps the id of before', find: 'const id = await sessions.begin(user)', replace: 'const id = old ?? await sessions.begin(user)' },
    { name: 'the session goes on though its cookie is deleted', find: 'if (id !== undefined) await sessions.end(id)', replace: '' },
    { name: 'the cookie is kept after signing out', find: "cookies.write(reply, NAME, '', 0)", replace: '' }
  ),
  ...mutationsOf('lib/browser/visitors.ts', PLUGIN,
    { name: 'an identity that is none is taken', find: 'if (principal === null) throw new IdentityInvalidError', replace: 'if (principal === null && user === null) throw new IdentityInvalidError' },
    { name: 'the label of an account may hold anything', find: "plainText(String(user.label ?? ''), 100) ||", replace: "String(user.label ?? '') ||", tests: ['test/browser/pages.test.ts'] },
    { name: 'an account without a label has no name', find: ' || plainText(principal.subject, 100)', replace: '', tests: ['test/browser/pages.test.ts'] },
    { name: 'the subject of an account without a label may hold anything', find: '|| plainText(principal.subject, 100)', replace: '|| principal.subject', tests: ['test/browser/pages.test.ts'] },
    { name: 'the login may be anywhere', find: "typeof url !== 'string' || !/^(\\/(?![/\\\\])|https?:\\/\\/)[\\x21-\\x7E]*$/i.test(url)", replace: "typeof url !== 'string'" },
    { name: 'the login may be no address', find: "if (typeof url !== 'string' || !", replace: 'if (!', also: [{ find: '.test(url)) throw', replace: '.test(String(url))) throw' }] },
    { name: 'the login may be a path that browsers take for a host', find: '(?![/\\\\])', replace: '' },
    { name: 'the address of the login may hold what ends a header', find: '[\\x21-\\x7E]*$/i', replace: '[^]*$/i' }
  ),
  ...mutationsOf('lib/browser/visit-limits.ts', LIMITS,
    { name: 'visitors are not limited by address', find: "await byAddress.count(hashFields('address', addressKey(ip)))", replace: 'return' },
    { name: 'users are not limited', find: 'await byPrincipal.count(hashPrincipal(visitor.principal))', replace: 'return' },
    { name: 'users who share an address get in the way of each other', find: 'if (visitor === null) await byAddress', replace: 'await byAddress', also: [{ find: '      else await byPrincipal', replace: '      if (visitor !== null) await byPrincipal' }] },
    { name: 'the address is stored in the clear', find: "hashFields('address', addressKey(ip))", replace: 'addressKey(ip)' }
  ),
  ...mutationsOf('lib/ip-address.ts', LIMITS,
    { name: 'each address of an IPv6 site counts for itself', find: 'bytes.slice(0, SITE_BYTES)', replace: 'bytes' },
    { name: 'an IPv4 address that is mapped to IPv6 is another one', find: 'ipaddr.process(ip)', replace: 'ipaddr.parse(ip)' },
    { name: 'all IPv4 addresses behind NAT64 are one', find: "address.range() === 'rfc6052' ?", replace: "address.range() === '' ?" },
    { name: 'a request without an address is a fault', find: "if (ip === undefined || !ipaddr.isValid(ip)) return 'no address'", replace: "if (ip === undefined) return 'no address'" }
  )
]
