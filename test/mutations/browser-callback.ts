/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const BINDING = ['test/browser/binding.test.ts']
const RESPONSE = ['test/browser/authorization-response.test.ts']
const FINISHING = ['test/browser/finishing.test.ts']
const DISCONNECTING = ['test/browser/disconnecting.test.ts']
const DECLINING = ['test/browser/declining.test.ts']
const STATE = ['test/browser/state.test.ts']
const AUDIT = ['test/browser/audit.test.ts']
const PAGES = ['test/browser/pages.test.ts']

/** Whose link it is, and how it ends. */
export const callback = [
  ...mutationsOf('lib/browser/own-elicitation.ts', BINDING,
    { name: 'a link that nobody knows is a fault', find: 'if (elicitation === null) throw new NotFoundError()', replace: '' },
    { name: "another user's link is taken for one's own", find: "if (differing.length > 0) throw new SubjectMismatchError(differing.join(' and '))", replace: '' },
    { name: "another tenant's link is told to exist", find: "if (differing.includes('tenant')) throw new NotFoundError()", replace: '' },
    { name: "another tenant's link is taken for one's own", find: "if (differing.includes('tenant')) throw new NotFoundError()", replace: "if (differing.includes('tenant')) return { id, hash, elicitation }" },
    { name: 'the same subject at another issuer is the same user', find: 'const differing = differingMembers(elicitation.principal, principal)', replace: "const differing = differingMembers(elicitation.principal, principal).filter(member => member !== 'issuer')", tests: ['test/guard/tenants.test.ts', 'test/browser/binding.test.ts'] },
    { name: 'strangers are not counted', find: 'mismatches.note(principal, differing)', replace: '', tests: ['test/browser/identity.test.ts'] }
  ),
  ...mutationsOf('lib/browser/assertions.ts', PAGES,
    { name: 'a link that has ended can be used', find: "if (elicitation.status !== 'pending') throw new ConsumedError()", replace: '' },
    { name: 'a link that has expired can be used', find: 'if (!isPending(elicitation)) throw new ExpiredError()', replace: '', tests: STATE },
    { name: 'somebody else finishes what is held', find: "if (turn === 'held') throw new HeldError()", replace: '', tests: FINISHING },
    { name: 'what has ended in between ends again', find: "if (turn === 'over') throw new ConsumedError()", replace: '', tests: FINISHING },
    { name: 'whoever is not allowed to connect connects', find: 'if (!await authorize(principal, provider)) throw', replace: 'if (!authorize(principal, provider)) throw', tests: ['test/browser/forms.test.ts'] }
  ),
  ...mutationsOf('lib/browser/redirection-endpoint.ts', BINDING,
    { name: 'an answer that the browser loads in advance, or inside of a page, counts', find: 'assertNavigation(request)', replace: '', tests: ['test/browser/navigation.test.ts'] },
    { name: 'a state that nobody knows is a fault', find: 'if (flow === null) throw new StateInvalidError()', replace: '', tests: STATE },
    // Two layers: the redirect URI names the provider, too.
    {
      name: 'the state of one provider is taken at the endpoint of another',
      find: 'flow.provider === key && ',
      replace: '',
      also: [{ find: 'flow.redirectUri === redirectUri && ', replace: '' }],
      tests: STATE
    },
    { name: 'the code of another issuer is sent to this one', find: 'flow.issuer === provider.issuer && ', replace: '', tests: FINISHING },
    { name: 'the code of another client is sent with this one', find: ' && flow.clientId === provider.clientId', replace: '', tests: FINISHING },
    { name: 'the code for another redirect URI is sent', find: 'flow.redirectUri === redirectUri && ', replace: '', tests: FINISHING },
    { name: 'an answer may come to any browser', find: 'if (!sameBrowser) throw new FlowCookieMissingError()', replace: '' },
    { name: 'an answer may come to a browser with any flow cookie', find: 'cookie !== undefined && matchesFlowCookie(flow, cookie)', replace: 'cookie !== undefined', tests: BINDING },
    { name: 'an answer to a browser in which nobody is signed in is parked', find: 'if (!sameBrowser) throw new SignInRequiredError()', replace: '' },
    { name: 'who was signed out on the way cannot start again', find: 'throw new SessionLostError()', replace: 'throw new SignInRequiredError()', tests: ['test/browser/login.test.ts'] },
    { name: "another user's answer is taken", find: 'await findOwn(services, request, flow.elicitationId, visitor)', replace: 'await findOwn(services, request, flow.elicitationId, { ...visitor, principal: (await elicitations.find(elicitationHash(flow.elicitationId)))!.principal })' },
    { name: 'an answer that was used is used again', find: "if (flow.status !== 'started') throw new ConsumedError()", replace: '', tests: STATE },
    { name: 'an answer that comes after a disconnect is not told so', find: 'await assertNotRevoked(services, flow, visitor.principal)', replace: '', tests: DISCONNECTING },
    { name: 'an answer counts however late it comes', find: 'if (flow.expiresAt <= Date.now()) throw new ExpiredError()', replace: '', tests: STATE },
    { name: 'that a code is about to be redeemed is not told', find: "audit('exchange.started', facts)", replace: '', tests: AUDIT },
    { name: 'that an exchange has failed is not told', find: "audit(wasRefused(error) ? 'exchange.refused' : 'exchange.orphan_possible', facts)", replace: '', tests: AUDIT },
    { name: 'a refused exchange is told as a grant that may be left behind', find: "wasRefused(error) ? 'exchange.refused' : 'exchange.orphan_possible'", replace: "'exchange.orphan_possible'", tests: AUDIT },
    { name: 'what became of a grant is not told', find: 'audit(`exchange.${exchanged}`, facts)', replace: '', tests: AUDIT },
    { name: 'an earlier decline holds though the user has said yes', find: 'await declines.clear(principal, flow.provider)', replace: '', tests: DECLINING },
    { name: 'the nonce is not compared with the id_token', find: ', ...flow.nonce !== undefined && { nonce: flow.nonce }', replace: '', tests: ['test/browser/malicious-provider.test.ts'] },
    { name: 'whoever is no longer allowed to connect connects', find: 'if (!await services.authorize(principal, flow.provider)) {', replace: 'if (services.authorize === undefined) {', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'a link that its user may no longer use stays open', find: "assertWon(await endUnconnected(services, elicitation, hash, 'failed', holder))\n      throw new NotAuthorizedError()", replace: 'throw new NotAuthorizedError()', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'a link whose scope the provider does not give stays open', find: "assertWon(await endUnconnected(services, elicitation, hash, 'failed', holder))      // the link", replace: '// the link', tests: RESPONSE },
    { name: 'a scope that the provider does not give is told like any error', find: "response.kind === 'error' && response.reason === 'invalid_scope'", replace: "response.kind === 'error' && response.reason === ''", tests: RESPONSE },
    { name: 'an error of the provider is redeemed like a code', find: "if (response.kind === 'error') throw new ProviderRefusedError(describeProvider(provider), response.reason)", replace: '', tests: RESPONSE },
    { name: 'a refusal at the provider is redeemed like a code', find: "if (response.kind === 'code') return await connect(attempt)", replace: 'return await connect(attempt)', tests: RESPONSE },
    { name: 'a refusal at the provider is not told to the operator', find: 'attempt.log.info({ provider: flow.provider }, ACCESS_DENIED)', replace: '', tests: RESPONSE },
    {
      name: 'an answer is acted on before its issuer is known',
      find: '    const response = readAuthorizationResponse(configuration, provider, request.query)\n',
      replace: '',
      also: [{ find: 'await finish(attempt, response)', replace: 'await finish(attempt, readAuthorizationResponse(configuration, provider, request.query))' }],
      tests: RESPONSE
    },
    { name: 'two answers of one link reach the token endpoint', find: 'assertWon(await elicitations.hold(hash, holder))\n      if', replace: 'if', tests: FINISHING },
    { name: 'one answer is redeemed twice', find: 'if (!await flows.claim(state)) throw new ConsumedError()', replace: 'await flows.claim(state)', tests: FINISHING },
    { name: 'the code is redeemed before the flow is claimed', find: 'if (!await flows.claim(state)) throw new ConsumedError()\n      const finished = await finish(attempt, response)', replace: 'const finished = await finish(attempt, response)\n      if (!await flows.claim(state)) throw new ConsumedError()', tests: FINISHING },
    { name: 'a link that failed stays held', find: 'await elicitations.release(hash, holder).catch(() => {})', replace: '', tests: RESPONSE },
    { name: 'a store that fails hides why a link failed', find: 'release(hash, holder).catch(() => {})', replace: 'release(hash, holder)', tests: FINISHING },
    { name: 'the flow cookie is kept', find: 'services.flowCookies.clear(reply, state)', replace: '', tests: PAGES },
    { name: 'the address with the code stays in the history', find: "return reply.redirect(urls.elicitation(flow.elicitationId, finished === 'undecided' ? 'account' : 'done'), 303)", replace: "return reply.send('done')" }
  ),
  ...mutationsOf('lib/browser/storing.ts', DISCONNECTING,
    { name: 'a grant that another account takes the place of stays at its provider', find: 'await Promise.all(displaced.map(async other => await revocations.discard(principal, flow.provider, other)))', replace: '', tests: ['test/browser/deciding.test.ts'] },
    { name: 'an answer that comes after a disconnect counts', find: 'if (await flows.isRevoked(flow, principal)) throw new DisconnectedError()', replace: '' },
    { name: 'a grant is stored that somebody else decides on by now', find: 'assertWon(await elicitations.hold(hash, holder))\n    await assertNotRevoked', replace: 'await assertNotRevoked', tests: FINISHING },
    { name: 'a grant is stored after a disconnect', find: '    await assertNotRevoked(services, flow, principal)\n  })', replace: '  })' },
    { name: 'a grant that was stored while the user disconnected stays', find: 'if (await services.flows.isRevoked(flow, principal)) {', replace: 'if (flow.generation < 0) {' },
    { name: 'what is taken back after a disconnect may be a grant that was made since', find: 'await connections.remove(principal, flow.provider, saved.id)', replace: 'await connections.remove(principal, flow.provider)' },
    { name: 'a grant stays though the user has declined meanwhile', find: "if (turn !== 'won') await takeBack()", replace: '', tests: FINISHING },
    { name: 'a link is not ended when its connection is there', find: "const turn = await elicitations.end(hash, 'completed', holder)", replace: "const turn = 'won' as Awaited<ReturnType<typeof elicitations.end>>", tests: PAGES },
    { name: 'who has lost a link is told to be connected', find: '    assertWon(turn)\n  } finally', replace: '  } finally', tests: FINISHING },
    { name: 'who waits is not told of the connection', find: 'completion.announce(hashConnection(principal, flow.provider),', replace: 'void [', also: [{ find: 'await elicitations.retire(principal, flow.provider).catch(() => undefined))', replace: 'await elicitations.retire(principal, flow.provider).catch(() => undefined)]' }], tests: ['test/guard/capabilities.test.ts'] },
    { name: 'a link whose waiters were told is handed out again', find: 'await elicitations.retire(principal, flow.provider).catch(() => undefined)', replace: 'undefined', tests: ['test/guard/require-connection.test.ts', 'test/guard/waiting.test.ts'] },
    { name: 'a store that fails after all keeps those who wait from being told', find: 'elicitations.retire(principal, flow.provider).catch(() => undefined)', replace: 'elicitations.retire(principal, flow.provider)', tests: FINISHING },
    { name: 'that less was granted than asked is not told to the operator', find: 'if (missing.length > 0) log.warn', replace: 'if (missing.length > 0) void ', tests: ['test/guard/require-connection.test.ts', 'test/examples/custom-provider.test.ts'] }
  )
]
