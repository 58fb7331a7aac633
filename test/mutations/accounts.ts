/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const ACCOUNTS = ['test/browser/accounts.test.ts']
const DECIDING = ['test/browser/deciding.test.ts']
const REVOKING = ['test/browser/revoking.test.ts']
const UNDER_WAY = ['test/browser/revoking-under-way.test.ts']
const PLACEMENT = ['test/connections/placement.test.ts']
const CONNECTIONS = ['test/connections/connections.test.ts']
const UNDECIDED = ['test/elicitation/undecided-grants.test.ts']
const FAKES = ['test/oauth/identity.test.ts']
const NOTICES = ['test/browser/notices.test.ts']

/** The pages of several accounts at one provider. */
export const accountPages = [
  ...mutationsOf('lib/browser/account-handlers.ts', DECIDING,
    { name: 'of two decisions at once both count', find: 'if ((await undecidedGrants.find(hash))?.attempt !== attempt) throw new ConsumedError()', replace: '', tests: ['test/browser/accounts.test.ts'] },
    {
      name: 'whoever opens the question is taken for whom it is asked',
      find: 'await findOwn(services, request, idOf(request), visitor)',
      replace: 'await findOwn(services, request, idOf(request), { ...visitor, principal: (await elicitations.find(elicitationHash(idOf(request))))!.principal })',
      also: [{ find: 'import { auditedElicitation }', replace: 'import { auditedElicitation, elicitationHash }' }],
      tests: ACCOUNTS
    },
    { name: 'a question is there after its link has ended', find: 'assertPending(own.elicitation)', replace: '' },
    { name: 'what was decided is a fault', find: 'if (undecided === null) throw new ConsumedError()', replace: '' },
    { name: 'a grant of an issuer that is not configured any more is connected', find: 'issuer !== provider.issuer || ', replace: '' },
    { name: 'a grant of a client that is not configured any more is connected', find: ' || clientId !== provider.clientId', replace: '' },
    { name: 'a question is there after a disconnect', find: 'await assertNotRevoked(services, undecided.flow, visitor.principal)', replace: '' },
    { name: 'the form of one choice makes another', find: "['account', choice, hash,", replace: "['account', hash,", tests: ACCOUNTS },
    { name: 'the form for one account decides on another', find: 'choice, hash, undecided.attempt]', replace: 'choice]' },
    { name: 'the form for one account decides on the next one of the same link', find: ', hash, undecided.attempt]', replace: ', hash]' },
    { name: 'an account is decided on without its form', find: 'await forms.check(request, visitor.principal, actionOf(choice, found))', replace: '', tests: ACCOUNTS },
    { name: 'an account is decided on by whoever may no longer connect', find: 'await assertAuthorized(services, found.elicitation)', replace: '' },
    { name: 'a choice that there is not is made', find: 'if (!CHOICES.includes(choice)) throw new NotFoundError()', replace: '', tests: ACCOUNTS },
    { name: 'an account that cannot be told from another can be added', find: "choice !== 'add' || (tellsAccounts(provider) && grant.account !== undefined)", replace: 'choice !== null' },
    { name: 'the page names another account than the one that would be replaced', find: 'accounts.find(({ id }) => id === undecided.replaces)', replace: 'accounts.at(0)' },
    { name: 'two decisions are carried out at once', find: 'assertWon(await elicitations.hold(hash, holder))', replace: 'await elicitations.hold(hash, holder)' },
    { name: 'an account that is added replaces another', find: "replaces: choice === 'replace' ? replaces : null", replace: 'replaces', tests: ACCOUNTS },
    { name: 'an account that replaces another is added', find: "replaces: choice === 'replace' ? replaces : null", replace: 'replaces: null', tests: ACCOUNTS },
    { name: 'what was decided is asked again', find: 'await undecidedGrants.take(hash)\n        audit', replace: 'audit', tests: ACCOUNTS },
    { name: 'what was decided is not told', find: "audit('account.decided', {", replace: 'void ({', tests: ACCOUNTS },
    { name: 'what was decided is ended later all the same', find: 'choice })\n        await revocations.keep(attempt)', replace: 'choice })' },
    { name: 'a grant that nobody wants stays at its provider', find: "if (choice === 'discard') await discard(found)", replace: '', tests: UNDER_WAY },
    { name: 'a grant that was decided on while its user disconnected stays at its provider', find: 'if (error instanceof DisconnectedError && await', replace: 'if (error === null && await' },
    { name: 'a decision that failed holds its link', find: 'await elicitations.release(hash, holder).catch(() => {})', replace: '' },
    { name: 'a link whose new account was forgotten stays held', find: 'await elicitations.release(hash, holder)\n      return', replace: 'return', tests: ACCOUNTS }
  ),
  ...mutationsOf('lib/browser/connections-handlers.ts', ACCOUNTS,
    { name: 'the form of an account that is gone is about all of them', find: 'if (stored === undefined) throw new NotFoundError()', replace: '' },
    { name: 'the form of one account does it to another', find: '[step, key] : [step, key, account]', replace: '[step, key] : [step, key]' },
    { name: 'a further account is asked for without its form', find: 'await forms.check(request, principal, actionOf(step, key, account))', replace: "if (step !== 'add') await forms.check(request, principal, actionOf(step, key, account))" },
    { name: 'the default is changed without its form', find: 'await forms.check(request, principal, actionOf(step, key, account))', replace: "if (step !== 'default') await forms.check(request, principal, actionOf(step, key, account))" },
    { name: 'a further account is offered to whoever may not connect', find: 'add: mayConnect && accounts', replace: 'add: accounts' },
    { name: 'a further account is offered where nobody could tell it apart', find: '&& tellsAccounts(provider) ?', replace: '?' },
    { name: 'a further account is whichever it is', find: 'undefined, { another: true })', replace: 'undefined, {})' },
    { name: 'connecting an account again renews the default', find: 'name === undefined ? {} : { account: name }', replace: '{}' },
    { name: 'the default stays as it is', find: 'await connections.makeDefault(principal, key, stored!.id)', replace: '' },
    { name: 'disconnecting one account disconnects all', find: 'disconnect(principal, key, stored?.id)', replace: 'disconnect(principal, key)' },
    { name: 'what became of a grant at its provider is not said', find: 'await services.notices.write(reply, principal, key, ended.map(({ atProvider }) => atProvider))', replace: '', tests: REVOKING }
  ),
  ...mutationsOf('lib/browser/interaction-handlers.ts', ACCOUNTS,
    { name: 'a question that waits for an answer is passed over', find: "if (await isUndecided(own)) return reply.redirect(urls.elicitation(id, 'account'), 303)", replace: '' },
    { name: 'a provider is not asked to let the user choose an account', find: '...elicitation.another === true && { prompt: switchAccountPrompt(configuration) }', replace: '' },
    { name: 'a provider is not told which account is meant', find: '...loginHint !== undefined && { loginHint }, ', replace: '' },
    { name: 'the page at the end names another account than the new one', find: '.sort((a, b) => b.connectedAt - a.connectedAt)', replace: '' },
    { name: 'the page does not say that it is about a further account', find: 'elicitation.another === true ? ANOTHER : ', replace: '' }
  ),
  ...mutationsOf('lib/browser/redirection-endpoint.ts', ACCOUNTS,
    { name: 'another account replaces the one that is connected', find: "if (placement.kind === 'clear') {", replace: "if (placement.kind !== 'never' as string) {" },
    { name: 'a link whose user has to decide stays held', find: "if (finished === 'undecided') await elicitations.release(hash, holder)", replace: '' },
    { name: 'a grant that nobody decides on stays at its provider', find: 'await revocations.discardLater(principal, key, { issuer, clientId, grant }, holder, DECISION_TTL_MS + DECISION_MS)', replace: '', tests: DECIDING },
    { name: 'a grant that cannot be stored stays at its provider', find: 'await revocations.discard(principal, flow.provider, { issuer: provider.issuer, clientId: provider.clientId, grant })', replace: '', tests: UNDER_WAY }
  ),
  ...mutationsOf('lib/browser/pages/account.ts', DECIDING,
    { name: 'the account that is connected is not escaped', find: '<strong>${old}</strong>', replace: '<strong>!${old}</strong>' },
    { name: 'the account that was signed in with is not escaped', find: '<strong>${other}</strong>', replace: '<strong>!${other}</strong>' }
  ),
  ...mutationsOf('lib/browser/notices.ts', REVOKING,
    { name: 'what one has done is said to another', find: 'return data?.owner === hashPrincipal(principal) ? data : null', replace: 'return data' },
    { name: 'what was done is said again and again', find: "cookies.write(reply, NAME, '', 0)", replace: '' },
    { name: 'a notice that is there twice makes the page fail', find: '} catch {\n      return undefined', replace: '} catch (error) {\n      throw error' },
    { name: 'of several outcomes the first one is said', find: 'OUTCOMES.find(outcome => outcomes.includes(outcome))', replace: 'outcomes[0]', tests: NOTICES },
    { name: 'a notice is good for ever', find: '`${cookies.beginning} ${NAME}`, LIFETIME_MS', replace: '`${cookies.beginning} ${NAME}`, 1e12', tests: NOTICES }
  )
]

/** Whose a grant is, where it belongs, and where it waits. */
export const accounts = [
  ...mutationsOf('lib/connections/placement.ts', PLACEMENT,
    { name: 'a further account is about the default', find: 'entry === null || another === true ?', replace: 'entry === null ?' },
    { name: 'the same account is asked about', find: "if (same !== undefined) return { kind: 'clear', replaces: same.id }", replace: '' },
    { name: 'an account that cannot be told is added', find: ' ?? (account === undefined ? entry?.accounts[0] : undefined)', replace: '' },
    { name: 'an account that is added has to take the place of another', find: '(account === undefined ? entry?.accounts[0] : undefined)', replace: 'entry?.accounts[0]' },
    { name: 'another account takes the place of one without a question', find: "target.grant.account === undefined ? { kind: 'clear'", replace: "target.grant.account !== null ? { kind: 'clear'" },
    { name: 'an account is asked about that there is nothing to compare with', find: "target.grant.account === undefined ? { kind: 'clear', replaces: target.id } : ", replace: '' }
  ),
  ...mutationsOf('lib/connections/entry.ts', PLACEMENT,
    { name: 'an account that is not there is the default', find: 'grant.account?.label === name)', replace: 'grant.account?.label === name) ?? accounts[0]' },
    { name: 'an account cannot be found by its label', find: ' ?? accounts.find(({ grant }) => grant.account?.label === name)', replace: '' },
    { name: 'a label comes before an identifier', find: 'grant.account?.subject === name) ?? accounts.find(({ grant }) => grant.account?.label === name)', replace: 'grant.account?.label === name) ?? accounts.find(({ grant }) => grant.account?.subject === name)' },
    { name: 'two that nobody can tell apart are two', find: 'return a?.subject === b?.subject', replace: 'return a !== undefined && a.subject === b?.subject' },
    { name: 'any two accounts are one', find: 'return a?.subject === b?.subject', replace: 'return true' },
    { name: 'an account is there twice', find: 'one.id === replaces || isSameAccount(one.grant.account, stored.grant.account)', replace: 'one.id === replaces' },
    { name: 'a grant that was replaced stays', find: 'one.id === replaces || isSameAccount', replace: 'isSameAccount' },
    { name: 'a new account is the default', find: 'at === -1 ? others.length :', replace: 'at === -1 ? 0 :' },
    { name: 'an account that is renewed loses its place', find: 'accounts.slice(0, at).filter(one => !isReplaced(one)).length', replace: 'others.length' },
    { name: 'what is taken out stays', find: 'accounts.filter(one => !isGone(one))', replace: 'accounts' },
    { name: 'a handle loses its account when the user connects again', find: ' ?? accounts.find(({ grant }) => isSameAccount(grant.account, stored.grant.account))', replace: '' }
  ),
  ...mutationsOf('lib/connections/connections.ts', CONNECTIONS,
    { name: 'grants of another issuer count', find: 'withoutGrants(found, one => one.issuer !== issuer)', replace: 'withoutGrants(found, () => false)' },
    { name: 'grants of another issuer stay beside the new one', find: 'entry === null ? null : withoutGrants(entry, one => one.issuer !== issuer)', replace: 'entry' },
    { name: 'what was withheld before is forgotten', find: '[...new Set([...withheld, ...grant.requestedScopes])]', replace: '[...grant.requestedScopes]' },
    { name: 'whether a grant may still be stored is not asked', find: 'await check?.()', replace: '' },
    { name: 'a race is lost', find: "=== null ? LOST : 'written'", replace: "=== null ? 'written' : 'written'" },
    { name: 'one grant is removed with all the others', find: 'withoutGrants(entry!, one => one.id === chosen.id)', replace: 'null' },
    { name: 'another grant than the one that was meant is removed', find: "typeof which === 'string' ? findGrant(entry, which) : which(entry)", replace: "typeof which === 'string' ? entry.accounts[0] : which(entry)" },
    { name: 'that a grant was stored is not told', find: "audit('vault.written', { ...auditIdsOf(principal), provider })", replace: '', tests: ['test/connections/revocations.test.ts'] },
    { name: 'that a grant was deleted is not told', find: "audit('vault.deleted', facts)", replace: '', tests: ['test/connections/revocations.test.ts'] },
    { name: 'what is stored while all is removed stays', find: 'const ROUNDS = 5', replace: 'const ROUNDS = 1', tests: ['test/connections/remove-principal.test.ts'] },
    { name: 'connections of others are removed', find: '.filter(entry => entry.owner === owner)', replace: '', also: [{ find: 'vault.list({ owner, limit', replace: 'vault.list({ limit' }], tests: ['test/connections/remove-principal.test.ts'] }
  )
]

/** What all grants have in common: where they may lie, by which key, and what they allow. */
export const grants = [
  ...mutationsOf('lib/connections/grant-context.ts', CONNECTIONS,
    { name: 'the grant of one user opens as that of another', find: "['grant', owner, name]", replace: "['grant', name]" },
    { name: 'the grant of one provider opens as that of another', find: "['grant', owner, name]", replace: "['grant', owner]" }
  ),
  ...mutationsOf('lib/connections/scopes.ts', ['test/connections/connection.test.ts'],
    { name: 'what is never echoed is missing', find: ' && !NEVER_MISSING.includes(scope)', replace: '' },
    { name: 'what a scope implies is missing', find: 'implied.get(spelled)?.forEach(add)', replace: '', tests: ['test/complaints.test.ts'] },
    { name: 'scopes are spelled as they were asked for, or missing', find: 'ignoresScopeCase ? scope.toLowerCase() : scope', replace: 'scope', tests: ['test/complaints.test.ts', 'test/providers/flows.test.ts'] },
    { name: 'scopes are spelled in any way', find: 'ignoresScopeCase ? scope.toLowerCase() : scope', replace: 'scope.toLowerCase()' },
    { name: 'scopes that imply each other are followed for ever', find: 'if (allowed.has(spelled)) return', replace: '' },
    { name: 'what was never asked for is withheld', find: ' && missing.every(scope => grant.requestedScopes.includes(scope))', replace: '', tests: ['test/guard/require-connection.test.ts'] }
  ),
  ...mutationsOf('lib/connections/resealing.ts', ['test/connections/resealing.test.ts'],
    { name: 'two processes that disagree seal a grant in turns', find: ' && now >= (recent.get(place) ?? 0)', replace: '' },
    { name: 'places are remembered without end', find: 'if (recent.size > MAX_RECENT) recent.delete(oldest!)', replace: '' },
    { name: 'all that is read is sealed anew at once', find: 'underWay.size < PAGE && ', replace: '' },
    { name: 'what was deleted meanwhile comes back', find: 'sealed, stored.revision)', replace: 'sealed, (await vault.get(owner, name))?.revision ?? null)' },
    { name: 'a dry run seals', find: "if (dryRun) return { kind: 'resealed' }", replace: '' },
    { name: 'what cannot be opened ends it', find: "if (error instanceof SealBrokenError) return { kind: 'unreadable'", replace: "if (error === null) return { kind: 'unreadable'" },
    { name: 'a vault that fails is asked with each read', find: 'if (!(error instanceof StoreContentionError)) pausedUntil = Date.now() + PAUSE_MS', replace: '' },
    { name: 'that a grant could not be sealed anew is not told', find: "log.warn({ err: error }, 'mcp-connect: a grant could", replace: "void ({ err: error }, 'mcp-connect: a grant could" },
    { name: 'a vault that hangs keeps the application from closing', find: 'await withTimeout(Promise.all(underWay.values()), CLOSE_TIMEOUT_MS).catch(() => {})', replace: 'await Promise.all(underWay.values())' },
    { name: 'a list without an end is followed for ever', find: 'if (page.cursor !== null && page.cursor === cursor) throw', replace: 'if (page.cursor === undefined) throw' },
    { name: 'that a grant was sealed anew is not told', find: "audit('vault.resealed', { principal: owner })", replace: '' }
  )
]

export const undecidedGrants = mutationsOf('lib/elicitation/undecided-grants.ts', UNDECIDED,
  { name: 'two get one grant', find: 'record !== null && await records.delete(hash, revision!) ? record : null', replace: 'record' },
  { name: 'a grant is decided on again and again', find: 'await records.delete(hash, revision!)', replace: 'revision !== null' },
  { name: 'a grant waits for ever', find: 'revision, DECISION_TTL_MS)', replace: 'revision, 1e12)' },
  { name: 'a later answer is lost', find: 'await records.put(hash, undecided, revision, DECISION_TTL_MS)', replace: 'await records.put(hash, undecided, null, DECISION_TTL_MS)' }
)

export const identity = mutationsOf('lib/oauth/identity.ts', FAKES,
  { name: 'accounts are told apart by nothing', find: "identity !== undefined || scopes.includes('openid')", replace: 'true', tests: ACCOUNTS },
  { name: "the provider's own way is not gone", find: 'if (identity !== undefined) return readIdentity', replace: 'if (identity === null) return readIdentity' },
  { name: 'an identifier that is empty tells an account', find: "id !== '' && ", replace: '' },
  { name: 'an identifier may be of any length', find: ' && id.length <= MAX_SUBJECT_LENGTH', replace: '' },
  { name: 'an identifier may be anything', find: ' && !Number.isSafeInteger(id)) return undefined', replace: ' && id === undefined) return undefined' },
  { name: 'a number cannot be an identifier', find: ' && !Number.isSafeInteger(id)) return undefined', replace: ') return undefined' },
  { name: 'a label may hold anything', find: 'plainText(value, MAX_LABEL_LENGTH)', replace: 'String(value)' },
  { name: 'a label may be invisible', find: ".find(value => value !== '')", replace: '[0]' },
  { name: 'a label may be made of an object', find: ".filter(value => typeof value === 'string')", replace: '.map(String)' },
  { name: 'an identity is asked for without limits', find: 'createOutboundFetch(provider))', replace: 'globalThis.fetch as never)' },
  { name: 'an identity keeps people waiting', find: 'signal: AbortSignal.timeout(TIMEOUT_MS), ', replace: '' },
  { name: 'an error is read for an identity', find: 'response.ok ? parseJson(await response.text()) : undefined', replace: 'parseJson(await response.text())' },
  { name: 'an identity that fails keeps people out', find: '} catch {\n    return undefined', replace: '} catch (error) {\n    throw error' }
)
