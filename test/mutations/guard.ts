import { mutationsOf } from './mutation.js'

const REQUIRE = ['test/guard/require-connection.test.ts']
const CAPABILITIES = ['test/guard/capabilities.test.ts']
const WAITING = ['test/guard/waiting.test.ts']
const BINDING = ['test/browser/binding.test.ts']
const LIMITS = ['test/browser/limits.test.ts']
const BLOCKED = ['test/guard/blocked.test.ts']
const SDK = ['test/guard/sdk-v1.test.ts']
const AUDIT = ['test/ops/audit.test.ts']
const IDENTITY = ['test/browser/identity.test.ts']

export const guard = [
  ...mutationsOf('lib/guard/guard.ts', REQUIRE,
    { name: 'a call without verified claims is that of nobody in particular', find: 'if (claims === undefined) {', replace: 'if (claims === undefined) return { issuer: "nobody", subject: "nobody" }\n    if (claims === null) {', tests: BINDING },
    { name: 'a call without verified claims is not told to the operator', find: "log.error('mcp-connect: a guarded handler was called without", replace: "void ('mcp-connect: a guarded handler was called without", tests: BINDING },
    { name: 'claims without issuer and subject make a principal', find: 'if (principal !== null) return principal', replace: 'if (principal !== null || made !== undefined) return made as Principal', tests: IDENTITY },
    { name: 'claims without issuer and subject are not told to the operator', find: 'log.error(`mcp-connect: principal(claims)', replace: 'void (`mcp-connect: principal(claims)', tests: IDENTITY },
    { name: 'whoever is not allowed to use a provider uses it', find: 'if (!await services.authorize(principal, key)) throw', replace: 'if (!await services.authorize(principal, key) && key === null) throw' },
    { name: 'authorize is not waited for', find: '!await services.authorize(', replace: '!services.authorize(' },
    { name: 'a grant of another issuer counts', find: "found.kind === 'usable' ? found.entry : null", replace: "'entry' in found ? found.entry : null", tests: ['test/guard/tenants.test.ts'] },
    { name: 'what cannot be read counts as not connected', find: 'const unreadable = needed.filter(one => one.unreadable)', replace: 'const unreadable = needed.filter(() => false)' },
    { name: 'whoever has declined is asked all the same', find: 'const refused = handed.filter(({ link }) => link === null)', replace: 'const refused = handed.filter(({ link }) => link === undefined)', tests: ['test/browser/authorization-response.test.ts'] },
    { name: 'nobody is told that the wait is over', find: 'if (notify === null) return () => {}', replace: 'if (notify !== undefined) return () => {}', tests: CAPABILITIES },
    { name: 'who waits for the same connection by another link is not told', find: '[hashConnection(principal, provider), askerHash({ principal, provider, client })]', replace: '[askerHash({ principal, provider, client })]', tests: CAPABILITIES },
    { name: 'who waits for a link that is declined is not told', find: '[hashConnection(principal, provider), askerHash({ principal, provider, client })]', replace: '[hashConnection(principal, provider)]', tests: ['test/browser/declining.test.ts'] },
    { name: 'a link is handed out that has ended meanwhile', find: 'return live && isUnchanged(found, now)', replace: 'return isUnchanged(found, now)', tests: WAITING },
    { name: 'a link is handed out though the user has connected meanwhile', find: 'return live && isUnchanged(found, now)', replace: 'return live', tests: WAITING },
    { name: 'it is looked only at one of several links whether it is still open', find: '.every(Boolean)', replace: '.some(Boolean)', tests: WAITING },
    { name: 'a call that is decided anew is told of the link that it was not handed', find: 'if (!open) for (const giveUp of giveUps) giveUp()', replace: '', tests: WAITING },
    { name: 'the connections page does not know what a client without URL mode needs', find: 'await Promise.all(needed.map(one => elicitations.offer(wantedOf(principal, one), call.client))).catch(noteLimited(principal, call))', replace: '' },
    { name: 'a client without URL mode gets no text when it has reached its limit', find: 'call.client))).catch(noteLimited(principal, call))', replace: 'call.client)))', tests: LIMITS },
    { name: 'a client with URL mode gets no text when it has reached its limit', find: 'missing).catch(noteLimited(principal, call))', replace: 'missing)', tests: LIMITS },
    { name: 'a store that fails counts as a limit', find: 'if (!(error instanceof RateLimitedError)) throw error\n', replace: 'if (!(error instanceof RateLimitedError)) return\n' },
    { name: 'a client that has reached its limit is not told', find: "if (first) audit('ratelimit.hit', {", replace: 'void ({', also: [{ find: '}, { reason: `a client of one user', replace: '}), void ({ reason: `a client of one user' }], tests: LIMITS },
    { name: 'a client that has reached its limit fills the log', find: 'if (first) audit(', replace: 'audit(', tests: LIMITS },
    { name: 'a grant that has expired counts', find: 'entry !== null && !isExpired(entry.grant)', replace: 'entry !== null' },
    { name: 'a grant without the scopes that are needed counts', find: '(!usable.includes(one) || missingScopes(one.entry!.grant, one.scopes).length > 0)', replace: '!usable.includes(one)' },
    { name: 'what the provider has withheld is asked for again and again', find: 'isWithheld(entry!.grant, scopes)', replace: 'isWithheld(entry!.grant, scopes) && scopes.length < 0' },
    { name: 'what the provider has withheld is given to the handler all the same', find: 'missing.length + withheld.length === 0', replace: 'missing.length === 0' },
    { name: 'a client that did not declare URL mode is handed a link', find: "call.urlMode === 'declared' || (", replace: "call.urlMode !== 'unknown' || (", tests: CAPABILITIES },
    { name: 'a client of which nothing is known is handed a link', find: "services.whenCapabilityUnknown === 'elicit'", replace: 'services.whenCapabilityUnknown !== null', tests: CAPABILITIES },
    { name: 'the operator cannot say that unknown clients have URL mode', find: "services.whenCapabilityUnknown === 'elicit'", replace: 'services.whenCapabilityUnknown === null', tests: CAPABILITIES },
    { name: 'a store that loses its records keeps a call for ever', find: 'if (attempts === 1) throw new StoreContentionError()', replace: '', tests: CAPABILITIES },
    { name: 'errors of the host and the store are told to the model', find: "new BlockedError('failure', texts.TROUBLE)", replace: "new BlockedError('failure', String((error as Error).message))" },
    { name: 'errors of the host and the store are not told to the operator', find: "log.error({ err: error }, 'mcp-connect: a guarded call", replace: "void ({ err: error }, 'mcp-connect: a guarded call" },
    { name: 'that a handler has received a connection is not told', find: "for (const { key: provider } of needed) audit('vault.read', { ...ids, provider })", replace: '', tests: AUDIT },
    { name: 'that a handler did not run is not told', find: "audit('guard.blocked', {", replace: 'void ({', tests: BLOCKED },
    { name: 'that a handler did not run is told, and not for whom', find: '...principal !== undefined && auditIdsOf(principal), reason', replace: 'reason', tests: BLOCKED }
  ),
  ...mutationsOf('lib/guard/requirements.ts', REQUIRE,
    { name: 'a reason may hold a link, or what reorders text', find: 'clientText(200)', replace: 'z.string()' },
    { name: 'scopes may be of any form', find: 'scopes: scopesSchema.optional()', replace: 'scopes: z.array(z.string()).optional()' },
    { name: 'options that nobody knows are ignored', find: 'z.strictObject(shape, {', replace: 'z.looseObject(shape, {' },
    { name: 'arguments behind the handler are ignored', find: 'if (args.length > 3)', replace: 'if (args.length > 4)' },
    { name: 'a guard for no provider lets everybody through', find: ' || keys.length === 0) throw', replace: ') throw' },
    { name: 'a guard may be for something that is no list', find: 'if (!Array.isArray(keys) || keys.length === 0) throw', replace: 'if (Array.isArray(keys) && keys.length === 0) throw' },
    { name: 'a provider may be named twice', find: 'new Set(keys).size < keys.length', replace: 'new Set(keys).size < 0' },
    { name: 'a handler may be missing', find: "if (typeof handler !== 'function') throw", replace: "if (typeof handler === 'number') throw" },
    { name: 'the options may be missing', find: "if (typeof options !== 'object' || options === null) throw", replace: "if (typeof options !== 'object' && options === null) throw" },
    { name: 'options for a provider that is not required are ignored', find: 'if (stray !== undefined)', replace: 'if (stray === null)' },
    { name: 'a provider that nobody knows is looked up at the time of the call', find: 'if (provider === undefined) throw', replace: 'if (provider === null) throw' },
    { name: 'options that are inherited count', find: 'Object.hasOwn(byKey, key)', replace: 'key in byKey', tests: ['test/guard/requirements.test.ts'] },
    { name: 'wrong options are taken', find: 'if (!result.success) throw', replace: 'if (!result) throw' },
    { name: "the provider's own scopes are not required", find: '[...provider.scopes, ...scopes]', replace: '[...scopes]' },
    { name: "the handler's own scopes are not required", find: '[...provider.scopes, ...scopes]', replace: '[...provider.scopes]' }
  ),
  ...mutationsOf('lib/guard/sdk-v1.ts', CAPABILITIES,
    { name: 'what is no server of the SDK is taken', find: "if (typeof server?.getClientCapabilities !== 'function') throw", replace: "if (typeof server?.getClientCapabilities === 'string') throw", tests: REQUIRE },
    { name: 'a server of another copy of the SDK is taken', find: 'copies.find(({ Server }) => server instanceof Server)', replace: 'copies.find(({ Server }) => server instanceof Server) ?? copies[0]', tests: REQUIRE },
    { name: 'a missing SDK is told like a wrong one', find: 'copies.length === 0 ? new SdkMissingError() : new SdkMismatchError()', replace: 'new SdkMismatchError()', tests: SDK },
    { name: 'the handler runs before the connection is there', find: "if (decision.kind === 'run') {", replace: "if (decision.kind === 'elicit') void Promise.resolve(handler({}, ...handlerArgs)).catch(() => {})\n        if (decision.kind === 'run') {", tests: REQUIRE },
    { name: 'an elicitation is not of URL mode', find: "({ mode: 'url', ...elicitation })", replace: '({ ...elicitation })' },
    { name: 'most clients show no way on', find: '{ message: decision.message }', replace: '{}' },
    { name: 'the name of a client may hold anything', find: 'plainText(name, 60)', replace: 'name', tests: SDK },
    { name: 'claims that are no object are taken', find: 'claims: isObject(extra) ? extra : undefined', replace: 'claims: extra', tests: SDK },
    { name: 'the id of a client may be of any form', find: "typeof clientId === 'string' ? clientId : ''", replace: 'clientId as string', tests: SDK },
    { name: 'clients share their links', find: "typeof clientId === 'string' ? clientId : ''", replace: "''" },
    { name: 'a completion is sent to whoever the server is connected to by then', find: 'if (live === undefined || (live.transport ?? live) !== transportRef.deref()) return', replace: 'if (live === undefined) return' },
    { name: 'the session is that of the server, whichever client it is connected to', find: 'const transport = server.transport ?? server', replace: 'const transport = server' },
    { name: 'a client that cannot be told is a fault', find: '} catch {\n    return null                                   // it throws', replace: '} catch (error) {\n    throw error                                   // it throws' },
    { name: 'a server is kept alive while it waits', find: 'new WeakRef(server)', replace: '{ deref: () => server }', tests: SDK },
    { name: 'a session is kept alive while it waits', find: 'new WeakRef(transport)', replace: '{ deref: () => transport }', tests: SDK },
    { name: 'capabilities that are no object declare something', find: "if (!isObject(capabilities)) return 'unknown'", replace: "if (capabilities === undefined) return 'unknown'", tests: SDK },
    { name: 'a client declares URL mode by any value', find: "isObject(elicitation['url'])", replace: "'url' in elicitation" },
    { name: 'a client declares URL mode by declaring elicitation', find: "isObject(elicitation) && isObject(elicitation['url'])", replace: 'isObject(elicitation)' },
    { name: 'a list counts as an object', find: ' && !Array.isArray(value)', replace: '' },
    { name: 'null counts as an object', find: "typeof value === 'object' && value !== null", replace: "typeof value === 'object'" }
  ),
  ...mutationsOf('lib/guard/sdk-v1-copies.mts', SDK,
    { name: 'a server of the CommonJS copy of the SDK is a stranger', find: '[esm, requiredCopy(require)]', replace: '[esm]' },
    { name: 'an SDK that knows no URL mode is taken', find: "typeof UrlElicitationRequiredError === 'function' ?", replace: "typeof UrlElicitationRequiredError !== 'string' ?" },
    { name: 'an application without the SDK does not start', find: 'catch {\n    return null                                   // not installed', replace: 'catch (error) {\n    throw error                                   // not installed' }
  )
]
