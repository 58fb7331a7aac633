/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const REVOCATIONS = ['test/connections/revocations.test.ts']
const LOST = ['test/connections/revocations-lost.test.ts']
const REMOVING = ['test/connections/remove-principal.test.ts']
const REVOKING = ['test/browser/revoking.test.ts']
const ELSEWHERE = ['test/browser/revoking-elsewhere.test.ts']
const UNDER_WAY = ['test/browser/revoking-under-way.test.ts']
const DISCONNECTING = ['test/browser/disconnecting.test.ts']
const REQUEST = ['test/oauth/revocation-request.test.ts']
const DIALECT = ['test/oauth/dialect.test.ts']
const REFRESHING = ['test/connections/refreshing.test.ts']
const AUTHENTICATION = ['test/oauth/client-authentication.test.ts']

/** What becomes of a grant once nobody wants it any longer. */
export const revocation = [
  ...mutationsOf('lib/connections/disconnecting.ts', REVOCATIONS,
    { name: 'a flow that is under way brings back what was disconnected', find: 'await endFlows(principal, provider)', replace: '', tests: DISCONNECTING },
    {
      name: 'disconnecting removes first and revokes flows then',
      find: '      await endFlows(principal, provider)\n',
      replace: '',
      also: [{ find: 'if (removed === null) await', replace: 'await endFlows(principal, provider)\n      if (removed === null) await' }],
      tests: DISCONNECTING
    },
    { name: 'a process that ends forgets what it has deleted', find: 'prepared = await prepare(principal, provider, grants, prepared)', replace: 'prepared = grants.map(grant => ({ pending: { ...grant, id: grant.id, principal, provider, failures: 0, dueAt: 0, givesUpAt: Date.now() + 1e9, claim: null }, isStored: false }))' },
    { name: 'what lost its race is ended later', find: 'await Promise.all(last.map(revocations.abandon))', replace: '' },
    { name: 'what somebody else has deleted is remembered', find: 'if (removed === null) await Promise.all(prepared.map(revocations.abandon))', replace: '' },
    { name: 'what cannot be read is told as ended', find: 'removed.length === 0 ? [unreadable(principal, provider)] : await', replace: 'await' },
    { name: 'that what was deleted could not be read is not told', find: "audit('revocation.failed', { ...auditIdsOf(principal), provider, cause: 'unreadable' })", replace: '' },
    { name: 'a flow that is under way brings back what was removed', find: 'await Promise.all([...providers.keys()].map(async key => await endFlows(principal, key)))', replace: '', tests: UNDER_WAY },
    { name: 'whoever was removed stays signed in', find: 'await endSessions(principal)', replace: '', tests: ELSEWHERE },
    { name: 'what is removed stays at its provider', find: '...await carryOut([...prepared.values()].flat())', replace: '', tests: REMOVING },
    { name: 'what is removed and cannot be read is not counted', find: 'for (const { atProvider } of [...unread, ', replace: 'for (const { atProvider } of [', tests: REMOVING }
  ),
  ...mutationsOf('lib/connections/revocations.ts', REVOCATIONS,
    { name: 'what cannot be read counts as not connected', find: "      if (found.kind === 'unreadable') throw found.error      // nobody can tell\n", replace: '' },
    { name: 'tokens are sent to another issuer', find: 'configured?.issuer === issuer && configured.clientId', replace: 'configured?.clientId' },
    { name: 'tokens are sent with credentials of another registration', find: ' && configured.clientId === clientId ?', replace: ' ?' },
    { name: 'what is still connected is ended', find: "if (await isConnected(pending)) return { kind: 'spared' }", replace: '' },
    { name: 'what another key of the same registration needs is ended', find: 'for (const key of providers.keys()) {', replace: 'for (const key of [...providers.keys()].slice(0, 1)) {' },
    { name: 'connections of another issuer keep a grant alive', find: 'provider?.issuer !== issuer || provider.clientId', replace: 'provider === null || provider.clientId' },
    { name: 'connections of another registration keep a grant alive', find: ' || provider.clientId !== clientId) continue', replace: ') continue', also: [{ find: 'one.clientId === clientId && ', replace: '' }] },
    { name: 'what the provider has ended keeps a grant alive', find: ' && one.deadAt === undefined', replace: '' },
    { name: 'another account keeps a grant alive', find: 'if (live.some(one => maySame(one.grant.account?.subject, grant.account?.subject))) return', replace: 'if (live.length > 0) return' },
    { name: 'an account that cannot be told is another one', find: 'return a === undefined || b === undefined || a === b', replace: 'return a === b && a !== undefined' },
    { name: 'a store that fails makes a disconnect fail', find: "return { kind: 'later', reason: (error as Error).message }", replace: 'throw error', tests: LOST },
    { name: 'what was done is done again', find: 'if (isStored) await remove(pending)\n    return answer.kind', replace: 'return answer.kind' },
    { name: 'that a grant has ended is not told', find: "audit('revocation.done', facts)", replace: 'void facts' },
    { name: 'that a grant was spared is not told', find: "audit('revocation.spared', facts)", replace: 'void facts' },
    { name: 'that a grant could not be ended is not told', find: "audit('revocation.failed', { ...facts, cause: answer.kind }", replace: 'void ({ ...facts }' },
    { name: 'that a grant is ended later is not told', find: "if (isKept) audit('revocation.postponed', factsOf(pending), { reason })", replace: 'if (isKept) void reason' },
    { name: 'each break is as long as the first', find: '2 ** pending.failures', replace: '1' },
    { name: 'breaks have no end', find: 'Math.min(FIRST_MS * 2 ** pending.failures, LONGEST_MS)', replace: '(FIRST_MS * 2 ** pending.failures)', tests: LOST },
    { name: 'Retry-After is not kept to', find: 'Math.max(backOffMs, retryAfterMs)', replace: 'backOffMs' },
    { name: 'a provider is tried for ever', find: 'if (dueAt > pending.givesUpAt) {', replace: 'if (dueAt < 0) {', tests: LOST },
    { name: 'what is given up is kept', find: "{ reason })\n      if (isStored) await remove(pending)\n      return 'lost'", replace: "{ reason })\n      return 'lost'", tests: LOST },
    { name: 'that nobody tries any more is not told', find: "audit('revocation.failed', { ...factsOf(pending), cause: 'given_up' }, { reason })", replace: '', tests: LOST },
    { name: 'a failure is not counted', find: 'failures: pending.failures + 1', replace: 'failures: pending.failures' },
    { name: 'what is full is told to be done later', find: "return isKept ? 'later' : 'lost'", replace: "return 'later'", tests: LOST },
    { name: 'what could not be stored is told to be done later', find: "return isStored ? 'later' : 'lost'", replace: "return 'later'", tests: LOST },
    { name: 'that a grant is lost is not told', find: "else audit('revocation.failed', { ...factsOf(pending), cause: 'lost' }, { reason, err: error })", replace: 'else void error', tests: LOST },
    { name: 'that there is no room is not told', find: "else audit('revocation.failed', { ...factsOf(pending), cause: 'lost' }, { reason: `", replace: 'else void ({ reason: `', tests: LOST },
    { name: 'a store that fails makes a disconnect fail before anything is deleted', find: 'await pendings.add(pending).catch(() => false)', replace: 'await pendings.add(pending)', tests: LOST },
    { name: 'what nobody can end is remembered', find: 'isConfigured && await pendings', replace: 'await pendings' },
    { name: 'a provider that does not answer holds up the user', find: 'const WAIT_MS = 5000', replace: 'const WAIT_MS = 20_000', tests: REVOKING },
    { name: 'one list is looked through, and not the others', find: 'for (let i = 0; i < LISTS; i++) {', replace: 'for (let i = 0; i < 1; i++) {' },
    { name: 'one batch is seen to, and not the rest', find: 'if (claimed.length === 0) break\n', replace: 'if (claimed.length === 0 || first < 0) break\n        i = LISTS\n' },
    { name: 'what is closed goes on', find: 'if (closed) return\n        const claimed', replace: 'const claimed' },
    { name: 'what was not deleted is ended later', find: 'abandon: async ({ pending, isStored }) => { if (isStored) await remove(pending) }', replace: 'abandon: async () => {}' },
    { name: 'what is to be discarded later is discarded at once', find: 'prepare(principal, provider, grant, name, delayMs)', replace: 'prepare(principal, provider, grant, name, 0)' },
    { name: 'what is asked for after all is discarded', find: 'keep: async name => await remove({ id: name, claim: name })', replace: 'keep: async () => {}' },
    { name: 'close waits for nothing', find: 'await withTimeout(Promise.allSettled(underWay), CLOSE_TIMEOUT_MS).catch(() => {})', replace: '', tests: REVOKING }
  ),
  ...mutationsOf('lib/connections/pending-revocations.ts', REVOCATIONS,
    { name: 'lists have no end', find: 'list.length < MAX_LENGTH ?', replace: 'list.length >= 0 ?', tests: LOST },
    { name: 'what finds its list full goes to no other', find: 'Array.from({ length: LISTS }, (_, i)', replace: 'Array.from({ length: 1 }, (_, i)', tests: LOST },
    { name: 'what is not due is seen to', find: 'dueAt <= now).slice', replace: 'dueAt > 0).slice' },
    { name: 'two processes see to one grant', find: 'claimed = due.map(one => ({ ...one, claim, dueAt: now + CLAIM_MS }))', replace: 'claimed = due.map(one => ({ ...one, claim }))' },
    { name: 'whoever has lost a race sees to it too', find: 'return won ? claimed : []', replace: 'return claimed' },
    { name: 'what somebody else has taken over is settled', find: 'id === pending.id && claim === pending.claim', replace: 'id === pending.id' },
    { name: 'a list that is empty is kept', find: 'if (next.length === 0) return revision === null || await records.delete(key, revision) || LOST', replace: '' },
    { name: 'a race is lost', find: 'TTL_MS) !== null || LOST', replace: 'TTL_MS) !== null' }
  )
]

export const revocationRequests = [
  ...mutationsOf('lib/oauth/revocation-request.ts', REQUEST,
    { name: "a provider's own way is not gone", find: 'if (provider.revocationRequest !== undefined) return', replace: 'if (provider.revocationRequest === null) return' },
    { name: 'an endpoint that the metadata name is not asked', find: 'provider.endpoints?.revocation ?? configuration.serverMetadata().revocation_endpoint', replace: 'provider.endpoints?.revocation' },
    { name: 'the access token alone is revoked', find: 'if (refreshToken === undefined) return', replace: 'if (refreshToken !== null) return' },
    { name: 'the refresh token alone is revoked', find: "if (first.kind !== 'revoked') return first", replace: "if (first.kind !== 'later') return first" },
    { name: 'the access token is revoked though the refresh token is not', find: "if (first.kind !== 'revoked') return first", replace: '' },
    { name: 'an access token that cannot be revoked by itself counts as refused', find: "second.kind === 'refused' && second.reason === UNSUPPORTED_TOKEN ? first : second", replace: 'second' },
    { name: 'an access token that is refused counts as revoked', find: "second.kind === 'refused' && second.reason === UNSUPPORTED_TOKEN ? first : second", replace: 'first' },
    { name: 'the kind of a token is not told', find: ', { token_type_hint: kind })', replace: ')' },
    { name: 'a server in trouble is not told again', find: 'if (isForLater(status)) return', replace: 'if (status === 0) return' },
    { name: 'Retry-After is not read', find: 'reason: `status ${status}`, ...retryAfter(response) }\n  const', replace: 'reason: `status ${status}` }\n  const' },
    { name: 'codes that come with any status count', find: 'status === 400 ? await codesIn(response) : []', replace: 'await codesIn(response)' },
    { name: 'a token that the server does not know any more is not gone', find: 'GONE.includes(code) || ', replace: '' },
    { name: 'a token is not gone where the provider has a word of its own for it', find: ' || failureCodes.dead?.includes(code) === true', replace: '' },
    { name: "a server's own text is told", find: '/^[a-z_]+$/.test(reason) ? reason : `status ${status}`', replace: 'reason' },
    { name: 'the request of a way of its own is sent without limits', find: 'createOutboundFetch(provider))(request', replace: 'globalThis.fetch as never)(request' },
    { name: 'a way of its own that makes no request makes a disconnect fail', find: '} catch {\n    return { kind:', replace: '} catch (error) {\n    throw error\n    return { kind:' },
    { name: 'a request that was not answered makes a disconnect fail', find: '} catch (error) {\n    return notAnswered(error)\n  }\n}', replace: '} catch (error) {\n    throw error\n  }\n}' },
    { name: 'a way of its own that finds nothing counts as refused', find: "if (status === 400 || status === 404) return { kind: 'revoked' }", replace: '' },
    { name: 'a way of its own is not told again', find: 'return isForLater(status) ? {', replace: 'return status === 0 ? {' },
    { name: 'an error with status 200 counts as revoked', find: 'await isRefusedInBody(response) ?', replace: 'response.status === 0 ?' },
    { name: 'a limit is no reason to come back', find: 'status === 408 || status === 429 || status >= 500', replace: 'status === 408 || status >= 500' },
    { name: 'a time-out of the server is no reason to come back', find: 'status === 408 || ', replace: '' },
    { name: 'an address that may not be asked is asked again for a week', find: "/^(not_|answer_too_large)/.test(reason) ? 'refused' : 'later'", replace: "'later'" },
    { name: 'a connection that breaks is told as refused', find: "/^(not_|answer_too_large)/.test(reason) ? 'refused' : 'later'", replace: "'refused'" }
  ),
  ...mutationsOf('lib/oauth/error-answer.ts', REQUEST,
    { name: 'a server may have itself left alone for ever', find: 'Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)', replace: 'Math.max(ms, 0)', tests: DIALECT },
    { name: 'a date in the past is before now', find: 'Math.max(ms, 0)', replace: 'ms', tests: DIALECT },
    { name: 'seconds are taken for milliseconds', find: 'Number(value) * 1000', replace: 'Number(value)' },
    { name: 'a date is not understood', find: 'Date.parse(value) - Date.now()', replace: 'Number.NaN', tests: DIALECT },
    { name: 'what is neither seconds nor a date is a time', find: 'Number.isNaN(ms) ? {} : ', replace: '', tests: DIALECT },
    { name: 'a code counts however deep it stands', find: ' || depth === MAX_DEPTH) return []', replace: ') return []', tests: DIALECT },
    { name: 'a code counts at the top alone', find: 'const MAX_DEPTH = 3', replace: 'const MAX_DEPTH = 1', tests: DIALECT }
  ),
  ...mutationsOf('lib/oauth/dialect.ts', DIALECT,
    { name: 'headers of its own are not sent', find: 'for (const [name, value] of Object.entries(requestHeaders ?? {})) headers.set(name, value)', replace: '' },
    { name: 'what goes elsewhere is sent in JSON', find: 'if (!isTokenEndpoint(url)) return', replace: "if (url === '') return" },
    { name: 'token requests are forms everywhere', find: "tokenRequestFormat === 'json' ? JSON.stringify(Object.fromEntries(new URLSearchParams(String(init.body)))) : init.body", replace: 'init.body' },
    { name: 'JSON is said to be a form', find: "if (tokenRequestFormat === 'json') headers.set('content-type', 'application/json')", replace: '' },
    { name: 'tokens stand at the top everywhere', find: 'tokenResponsePath === undefined ? response : await unwrap(response, tokenResponsePath)', replace: 'response' },
    { name: 'tokens stand inside of another object always', find: '[valueAt(answer, path), answer].find', replace: '[valueAt(answer, path)].find' },
    { name: 'tokens at the top come before those of the user', find: '[valueAt(answer, path), answer].find', replace: '[answer, valueAt(answer, path)].find' },
    { name: 'a token of a user is of no known type', find: "{ ...tokens, token_type: 'bearer' }", replace: '{ ...tokens }' },
    { name: 'what an object inherits counts', find: 'Object.hasOwn(at, name) ?', replace: 'name in at ?' },
    { name: 'what is no JSON is a fault', find: '} catch {\n    return undefined', replace: '} catch (error) {\n    throw error' }
  ),
  ...mutationsOf('lib/oauth/refresh-request.ts', REFRESHING,
    { name: 'a grant that is gone for good is tried again', find: 'if (has(DEAD) || has(failureCodes.dead)) return', replace: 'if (has(failureCodes.dead)) return' },
    { name: 'a grant is not gone where the provider has a word of its own for it', find: 'if (has(DEAD) || has(failureCodes.dead)) return', replace: 'if (has(DEAD)) return', tests: ['test/providers/flows.test.ts'] },
    { name: 'a registration that is not accepted is told as trouble', find: 'if (has(MISREGISTERED) || has', replace: 'if (has' },
    { name: 'a server in trouble ends grants', find: 'if (status !== 429 && status < 500) {', replace: 'if (status !== -1) {', tests: DIALECT },
    { name: 'no resource indicator is sent with a refresh token', find: 'provider.resource === undefined ? {} : { resource: provider.resource }', replace: '{}', tests: ['test/connections/refresh-tokens.test.ts'] },
    { name: 'a token may hold anything', find: 'token === undefined || isToken(token)', replace: 'true', tests: DIALECT },
    { name: 'a token may be of any type', find: "!usable || tokens.token_type !== 'bearer'", replace: '!usable', tests: DIALECT }
  ),
  ...mutationsOf('lib/oauth/client-authentication.ts', AUTHENTICATION,
    { name: 'a secret is encoded further than it must be', find: 'encodeURIComponent(value)', replace: "[...value].map(letter => /\\w/.test(letter) ? letter : `%${letter.charCodeAt(0).toString(16)}`).join('')", tests: ['test/oauth/basic.test.ts'] },
    { name: 'a secret is not encoded', find: "encodeURIComponent(value).replaceAll('%20', '+')", replace: 'value', tests: ['test/oauth/basic.test.ts'] },
    { name: 'a space is encoded as in an address', find: ".replaceAll('%20', '+')", replace: '', tests: ['test/oauth/basic.test.ts'] },
    { name: 'an elliptic key is taken for one of RSA', find: "name === undefined ? { name: 'ECDSA', namedCurve: CURVES[alg]! } : ", replace: '' }
  )
]
