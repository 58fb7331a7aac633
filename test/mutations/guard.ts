/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const REQUIRE = ['test/guard/require-connection.test.ts']
const CAPABILITIES = ['test/guard/capabilities.test.ts']
const WAITING = ['test/guard/waiting.test.ts']
const BINDING = ['test/browser/binding.test.ts']
const LIMITS = ['test/browser/limits.test.ts']
const BLOCKED = ['test/guard/blocked.test.ts']
const SDK = ['test/guard/sdk-v1.test.ts']
const INPUT_REQUIRED = ['test/guard/input-required.test.ts']
const MODERN_CAPABILITIES = ['test/guard/modern-capabilities.test.ts']
const INPUT_RESPONSES = ['test/guard/input-responses.test.ts']
const MODERN_WAITING = ['test/guard/modern-waiting.test.ts']
const ROUNDS = ['test/guard/rounds.test.ts']
const V2 = ['test/guard/sdk-v2.test.ts']
const AUDIT = ['test/ops/audit.test.ts']
const IDENTITY = ['test/browser/identity.test.ts']

export const guard = [
  ...mutationsOf('lib/host-answer.ts', ['test/guard/host-answers.test.ts'],
    { name: 'whatever is no yes is one', find: "if (typeof answer === 'boolean') return answer", replace: 'return Boolean(answer)' },
    { name: 'a promise that rejects ends the process', find: 'Promise.resolve(answer).catch(() => {})', replace: '' }),
  ...mutationsOf('lib/guard/guard.ts', REQUIRE,
    { name: 'a call without verified claims is that of nobody in particular', find: 'if (claims === undefined) {', replace: 'if (claims === undefined) return { issuer: "nobody", subject: "nobody" }\n    if (claims === null) {', tests: BINDING },
    { name: 'a call without verified claims is not told to the operator', find: "log.error('mcp-connect: a guarded handler was called without", replace: "void ('mcp-connect: a guarded handler was called without", tests: BINDING },
    { name: 'claims without issuer and subject make a principal', find: 'if (principal !== null) return principal', replace: 'if (principal !== null || made !== undefined) return made as Principal', tests: IDENTITY },
    { name: 'claims without issuer and subject are not told to the operator', find: 'log.error(`mcp-connect: principal(claims)', replace: 'void (`mcp-connect: principal(claims)', tests: IDENTITY },
    { name: 'whoever is not allowed to use a provider uses it', find: 'if (!await services.authorize(principal, key)) throw', replace: 'if (!await services.authorize(principal, key) && key === null) throw' },
    { name: 'authorize is not waited for', find: '!await services.authorize(', replace: '!services.authorize(' },
    { name: 'a grant of another issuer counts', find: "found.kind === 'usable' ? findAccount(", replace: "'entry' in found ? findAccount(", tests: ['test/guard/tenants.test.ts'] },
    { name: 'what cannot be read counts as not connected', find: "({ found }) => found.kind === 'unreadable'", replace: '() => false' },
    { name: 'whoever has declined is asked all the same', find: 'const refused = handed.filter(({ link }) => link === null)', replace: 'const refused = handed.filter(({ link }) => link === undefined)', tests: ['test/browser/authorization-response.test.ts'] },
    { name: 'nobody learns that the guard is that of another server', find: 'if (connected || toldOfAnother) return', replace: 'if (connected || !toldOfAnother) return' },
    { name: 'that the guard is that of another server fills the log', find: 'toldOfAnother = true', replace: '' },
    { name: 'every guard is that of another server', find: 'if (connected || toldOfAnother) return', replace: 'if (toldOfAnother) return' },
    { name: 'nobody is told that the wait is over', find: 'mcpSession === null || notify === null ?', replace: 'mcpSession === null || notify !== undefined ?', tests: CAPABILITIES },
    { name: 'it is looked only at one of several links whether it is still open', find: '.every(Boolean)', replace: '.some(Boolean)', tests: WAITING },
    { name: 'a call that is decided anew is told of the link that it was not handed', find: 'if (!open) for (const giveUp of giveUps) giveUp()', replace: '', tests: WAITING },
    { name: 'the connections page does not know what a client without URL mode needs', find: 'await Promise.all(needed.map(one => elicitations.offer(wantedOf(principal, one), clientOf(call)))).catch(noteLimited(principal, call))', replace: '' },
    { name: 'a client without URL mode gets no text when it has reached its limit', find: 'clientOf(call)))).catch(noteLimited(principal, call))', replace: 'clientOf(call))))', tests: LIMITS },
    { name: 'a client with URL mode gets no text when it has reached its limit', find: 'missing).catch(noteLimited(principal, call))', replace: 'missing)', tests: LIMITS },
    { name: 'a store that fails counts as a limit', find: 'if (!(error instanceof RateLimitedError)) throw error\n', replace: 'if (!(error instanceof RateLimitedError)) return\n' },
    { name: 'a client that has reached its limit is not told', find: "if (first) audit('ratelimit.hit', {", replace: 'void ({', also: [{ find: '}, { reason: `a client of one user', replace: '}), void ({ reason: `a client of one user' }], tests: LIMITS },
    { name: 'a client that has reached its limit fills the log', find: 'if (first) audit(', replace: 'audit(', tests: LIMITS },
    { name: 'a grant that has expired counts', find: 'await refreshing.fresh({ principal, key, provider }, stored)', replace: "{ kind: 'fresh', stored }" },
    { name: 'a grant without the scopes that are needed counts', find: '!isUsable(one) || (lacking.includes(one) && !withheld.includes(one))', replace: '!isUsable(one)' },
    { name: 'what the provider has withheld is asked for again and again', find: 'isWithheld(provider, fresh.stored.grant, scopes)', replace: 'isWithheld(provider, fresh.stored.grant, scopes) && scopes.length < 0' },
    { name: 'what the provider has withheld is given to the handler all the same', find: 'missing.length + withheld.length === 0', replace: 'missing.length === 0' },
    { name: 'a client that did not declare URL mode is handed a link', find: "(urlMode === 'declared' || (", replace: "(urlMode !== 'unknown' || (", tests: CAPABILITIES },
    { name: 'a client of which nothing is known is handed a link', find: "services.whenCapabilityUnknown === 'elicit'", replace: 'services.whenCapabilityUnknown !== null', tests: CAPABILITIES },
    { name: 'the operator cannot say that unknown clients have URL mode', find: "services.whenCapabilityUnknown === 'elicit'", replace: 'services.whenCapabilityUnknown === null', tests: CAPABILITIES },
    { name: 'a user is asked for the same twice in one call', find: 'if (answered.length > 0) {', replace: 'if (answered.length > 0 && !waited) {', tests: MODERN_WAITING },
    { name: 'consent to open a link counts as a connection', find: 'missing.length + withheld.length === 0', replace: 'withheld.length === 0 && (missing.length === 0 || waited)', tests: MODERN_WAITING },
    { name: 'a client that answers is asked anew', find: 'if (answered.length > 0) {', replace: 'if (answered.length < 0) {', tests: MODERN_WAITING },
    { name: 'a list is answered with a link', find: "if (urlMode === 'impossible') return false", replace: '', tests: MODERN_CAPABILITIES },
    { name: 'strictCapabilities has no effect', find: 'if (round !== null && services.strictCapabilities) return true', replace: '', tests: MODERN_CAPABILITIES },
    { name: 'clientSupportsUrl has no effect', find: 'services.clientSupportsUrl?.(manifest) ?? ', replace: '', tests: MODERN_CAPABILITIES },
    { name: 'clientSupportsUrl makes the SDK refuse a call', find: "supports && (round === null || urlMode === 'declared')", replace: 'supports', tests: MODERN_CAPABILITIES },
    { name: 'a store that loses its records keeps a call for ever', find: 'if (attempts === 1) throw new StoreContentionError()', replace: '', tests: CAPABILITIES },
    { name: 'errors of the host and the store are told to the model', find: "new BlockedError('failure', texts.TROUBLE)", replace: "new BlockedError('failure', String((error as Error).message))" },
    { name: 'errors of the host and the store are not told to the operator', find: "log.error({ err: error }, 'mcp-connect: a guarded call", replace: "void ({ err: error }, 'mcp-connect: a guarded call" },
    { name: 'that a handler has received a connection is not told', find: "for (const { key: provider } of usable) audit('vault.read', { ...ids, provider })", replace: '', tests: AUDIT },
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
    { name: 'wrong options are taken', find: 'if (!result.success) throw new GuardOptionsError(`${key}:', replace: 'if (!result) throw new GuardOptionsError(`${key}:' },
    { name: "the provider's own scopes are not required", find: '[...provider.scopes, ...scopes]', replace: '[...scopes]' },
    { name: "the handler's own scopes are not required", find: '[...provider.scopes, ...scopes]', replace: '[...provider.scopes]' }
  ),
  ...mutationsOf('lib/guard/links.ts', CAPABILITIES,
    { name: 'who waits for the same connection by another link is not told', find: '[hashConnection(principal, needed.key), askerHash(', replace: '[askerHash(', tests: CAPABILITIES },
    { name: 'who waits for a link that is declined is not told', find: ', askerHash({ ...subjectOf(principal, needed), client: clientOf(call) })]', replace: ']', tests: ['test/browser/declining.test.ts'] },
    { name: 'a link is handed out that has ended meanwhile', find: 'return live && isUnchanged(found, now)', replace: 'return isUnchanged(found, now)', tests: WAITING },
    { name: 'a link is handed out though the user has connected meanwhile', find: 'return live && isUnchanged(found, now)', replace: 'return live', tests: WAITING }
  ),
  ...mutationsOf('lib/guard/rounds.ts', INPUT_RESPONSES,
    { name: 'a client cannot decline', find: "round.answers.get(one.key) === 'decline' && await", replace: "round.answers.get(one.key) === 'never' && await" },
    { name: 'whatever a client answers is a decline', find: "round.answers.get(one.key) === 'decline' && await", replace: 'await' },
    { name: 'cancel is waited for like consent', find: "if (answered.some(({ key }) => round.answers.get(key) !== 'accept')) return { kind: 'none' }", replace: '' },
    { name: 'who declines on the page while a call waits is told to go on', find: "since.length > 0 ? { kind: 'declined', refused: since } : ", replace: '', tests: MODERN_WAITING },
    { name: 'a call does not wait for what is under way', find: 'if (await isOpen(services, principal, needed, current.link)) await told', replace: '', tests: MODERN_WAITING },
    { name: 'what ends while the wait begins is waited for', find: 'if (await isOpen(services, principal, needed, current.link)) await told', replace: 'await told', tests: ROUNDS },
    { name: 'a wait that was over before it began is remembered', find: ' || over) return', replace: ') return', tests: ROUNDS },
    { name: 'a wait that is given up is remembered', find: 'for (const giveUp of giveUps) giveUp()', replace: '', tests: ROUNDS },
    { name: 'one link is waited for, and not the others', find: 'Promise.all(answered.map(untilEnded))', replace: 'Promise.race(answered.map(untilEnded))', tests: MODERN_WAITING },
    { name: 'a client that is gone is waited for', find: '[round.signal, services.closing]', replace: '[services.closing]', tests: MODERN_WAITING },
    { name: 'shutdown waits for users', find: '[round.signal, services.closing]', replace: '[round.signal]', tests: MODERN_WAITING }
  ),
  ...mutationsOf('lib/guard/waiting.ts', ROUNDS,
    { name: 'a wait has no end', find: 'const timer = setTimeout(stop, waitMs)', replace: 'const timer = setTimeout(() => {}, 1)', tests: MODERN_WAITING },
    { name: 'a signal that was aborted before is not seen', find: 'if (signals.some(({ aborted }) => aborted)) stop()', replace: '' },
    { name: 'the timer of a wait stays', find: 'clearTimeout(timer)', replace: '' },
    { name: 'progress is told after the call has ended', find: 'clearInterval(ticker)', replace: '' },
    { name: 'the listeners of a wait stay', find: "for (const signal of signals) signal.removeEventListener('abort', stop)", replace: '' },
    { name: 'a client that cannot be told of progress is thrown at the process', find: 'progress(seconds += PROGRESS_INTERVAL_MS / 1000).catch(() => {})', replace: 'progress(seconds += PROGRESS_INTERVAL_MS / 1000)', tests: MODERN_WAITING }
  ),
  ...mutationsOf('lib/guard/require-connection.ts', REQUIRE,
    { name: 'the handler runs before the connection is there', find: "if (decision.kind === 'elicit') return", replace: "if (decision.kind === 'elicit') void Promise.resolve(handler({}, ...handlerArgs)).catch(() => {})\n      if (decision.kind === 'elicit') return" },
    { name: "a tool of the protocol's own server fails by a JSON-RPC error", find: 'sdk.lowLevel && isToolCall(', replace: 'sdk.lowLevel === null && isToolCall(', tests: V2 },
    { name: "a resource of the protocol's own server gets a tool's result", find: "isObject(request) && request['method'] === 'tools/call'", replace: 'isObject(request)', tests: V2 }
  ),
  ...mutationsOf('lib/guard/create-guard.ts', REQUIRE,
    { name: 'what is no server of the SDK is taken', find: 'if (!isServer(server)) throw new NotMcpServerError()', replace: 'if (!isServer(server)) server satisfies unknown' },
    { name: 'a server of another copy of the SDK is taken', find: 'copies.find(({ Server }) => server instanceof Server)', replace: 'copies.find(({ Server }) => server instanceof Server) ?? copies[0]' },
    { name: 'a missing SDK is told like a wrong one', find: 'copies.length === 0 ? new SdkMissingError() : new SdkMismatchError()', replace: 'new SdkMismatchError()', tests: SDK },
    { name: 'an SDK v2 that cannot be loaded is found out by a call', find: 'if (copy === null) throw', replace: 'if (copy === null && lowLevel === null) throw', tests: V2 }
  ),
  ...mutationsOf('lib/guard/guarded-call.ts', CAPABILITIES,
    { name: 'claims that are no object are taken', find: 'claims: isObject(extra) ? extra : undefined', replace: 'claims: extra as Claims', tests: [...SDK, ...INPUT_REQUIRED] },
    { name: 'the id of a client may be of any form', find: "typeof clientId === 'string' ? clientId : ''", replace: 'clientId as string', tests: SDK },
    { name: 'clients share their links', find: "typeof clientId === 'string' ? clientId : ''", replace: "''", tests: [...CAPABILITIES, ...INPUT_RESPONSES] },
    { name: 'the name of a client may hold anything', find: 'plainText(name, 60)', replace: 'name', tests: SDK },
    { name: 'capabilities that are no object declare something', find: '...isObject(capabilities) && { capabilities }', replace: '...capabilities !== undefined && { capabilities: capabilities as Record<string, unknown> }', tests: SDK },
    { name: 'a client of which nothing is known has declared nothing', find: "if (capabilities === undefined) return 'unknown'", replace: "if (capabilities === undefined) return 'undeclared'" },
    { name: 'a client declares URL mode by any value', find: "isObject(elicitation['url'])", replace: "'url' in elicitation" },
    { name: 'a client declares URL mode by declaring elicitation', find: "isObject(elicitation) && isObject(elicitation['url'])", replace: 'isObject(elicitation)' },
    { name: 'a list counts as an object', find: ' && !Array.isArray(value)', replace: '' },
    { name: 'null counts as an object', find: "typeof value === 'object' && value !== null", replace: "typeof value === 'object'" }
  ),
  ...mutationsOf('lib/guard/mcp-session.ts', CAPABILITIES,
    { name: 'the session is that of the server, whichever client it is connected to', find: 'const transport = server.transport ?? server', replace: 'const transport = server' },
    { name: 'a completion is sent to whoever the server is connected to by then', find: 'if (live === undefined || (live.transport ?? live) !== transportRef.deref()) return', replace: 'if (live === undefined) return' },
    { name: 'a client that cannot be told is a fault', find: '} catch {\n    return null                                   // it throws', replace: '} catch (error) {\n    throw error                                   // it throws' },
    { name: 'a server is kept alive while it waits', find: 'new WeakRef(server)', replace: '{ deref: () => server }', tests: SDK },
    { name: 'a session is kept alive while it waits', find: 'new WeakRef(transport)', replace: '{ deref: () => transport }', tests: SDK }
  ),
  ...mutationsOf('lib/guard/sdk-v1.ts', CAPABILITIES,
    { name: 'most clients show no way on', find: '{ message }', replace: '{}' }
  ),
  ...mutationsOf('lib/guard/required-elicitations.ts', CAPABILITIES,
    { name: 'an elicitation is not of URL mode', find: "({ mode: 'url', elicitationId, url, message })", replace: '({ elicitationId, url, message } as any)' }
  ),
  ...mutationsOf('lib/guard/sdk-v2.ts', INPUT_RESPONSES,
    { name: '-32042 is sent on 2026-07-28', find: 'if (!isModern()) throw', replace: 'if (isModern() !== undefined) throw', tests: INPUT_REQUIRED },
    { name: 'a peer of 2025 gets a resultType', find: 'if (!isModern()) throw', replace: 'if (isModern() === undefined) throw', tests: V2 },
    { name: 'a client without an MCP session is taken for one of 2026', find: "(server.getNegotiatedProtocolVersion() ?? '')", replace: '(server.getNegotiatedProtocolVersion() ?? FIRST_MODERN_REVISION)', tests: MODERN_CAPABILITIES },
    { name: 'capabilities are those of an earlier request', find: 'envelope?.[CAPABILITIES] ?? {}', replace: 'server.getClientCapabilities()', tests: MODERN_WAITING },
    { name: 'a list asks for input', find: "MULTI_ROUND_TRIP.includes(method) ? urlModeOf(manifest) : 'impossible'", replace: 'urlModeOf(manifest)', tests: MODERN_CAPABILITIES },
    { name: "the handler's own input requests are taken for ours", find: 'responses.filter(([key]) => key.startsWith(KEY_PREFIX))', replace: 'responses', also: [{ find: 'key.slice(KEY_PREFIX.length)', replace: "key.replace(KEY_PREFIX, '')" }] },
    { name: 'answers of a form that nobody knows are none', find: '...droppedInputResponseKeys.map(key => [key, undefined] as const)', replace: '' },
    { name: 'whatever is no decline is consent', find: "action === 'accept' || action === 'decline' ? action : 'cancel'", replace: "action === 'decline' || action === 'cancel' ? action : 'accept'" },
    { name: 'progress is told to clients that did not ask', find: 'progressToken === undefined', replace: 'progressToken === null', tests: MODERN_WAITING },
    { name: 'the error of -32042 says nothing', find: '(requiredElicitations(elicitations), message)', replace: '(requiredElicitations(elicitations))', tests: V2 }
  ),
  ...mutationsOf('lib/package-copies.mts', SDK,
    { name: 'an application without SDK v2 gets an error of Node', find: '} catch {\n    return null\n', replace: '} catch (error) {\n    throw error\n', tests: V2 },
    { name: 'an application without the SDK does not start', find: '.catch(() => null)', replace: '' },
    { name: 'a copy of the SDK is loaded for the sake of asking', find: 'require.cache[require.resolve(name)]?.exports ?? null', replace: 'require(name)' }
  ),
  ...mutationsOf('lib/guard/sdk-v1-copies.ts', SDK,
    { name: 'a server of the CommonJS copy of the SDK is a stranger', find: '[esm, toCopy(requireLoadedCopy(SERVER), requireLoadedCopy(TYPES))]', replace: '[esm]' },
    { name: 'an SDK that knows no URL mode is taken', find: " || typeof types?.UrlElicitationRequiredError !== 'function'", replace: ' || types === null' }
  )
]
