/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const PAGES = ['test/browser/pages.test.ts']
const FORMS = ['test/browser/forms.test.ts']
const BINDING = ['test/browser/binding.test.ts']
const AUDIT = ['test/ops/audit.test.ts']
const LOST_KEY = ['test/browser/lost-key.test.ts']
const IDENTITY = ['test/browser/identity.test.ts']
const PLUGIN = ['test/plugin.test.ts']
const LOGIN = ['test/browser/login.test.ts']
const LIMITS = ['test/browser/limits.test.ts']

const ENDINGS = ['SIGN_IN_REQUIRED', 'SUBJECT_MISMATCH', 'SESSION_LOST', 'SIGN_IN_INVALID', 'SIGN_IN_DECLINED', 'SIGN_IN_FAILED', 'FLOW_COOKIE_MISSING',
  'COOKIE_INVALID', 'CSRF_FAILED', 'ORIGIN_MISMATCH', 'FORM_INVALID', 'NOT_AUTHORIZED', 'NOT_FOUND', 'METHOD_NOT_ALLOWED', 'EXPIRED', 'CONSUMED', 'HELD',
  'DISCONNECTED', 'RATE_LIMITED', 'STATE_INVALID', 'CONTEXT_MISMATCH', 'ISS_MISMATCH', 'RESPONSE_INVALID', 'PROVIDER_REFUSED', 'SCOPE_REFUSED',
  'EXCHANGE_FAILED', 'PROVIDER_UNAVAILABLE', 'PROVIDER_MISCONFIGURED']

/** What people see, and what it does. */
export const pages = [
  ...mutationsOf('lib/browser/interaction-handlers.ts', PAGES,
    {
      name: 'whoever opens a link is taken for its owner',
      find: 'await findOwn(services, request, idOf(request), visitor)',
      replace: 'await findOwn(services, request, idOf(request), { ...visitor, principal: (await services.elicitations.find(elicitationHash(idOf(request))))!.principal })',
      also: [{ find: "import { NotFoundError } from '../errors.js'", replace: "import { NotFoundError } from '../errors.js'\nimport { elicitationHash } from '../elicitation/elicitations.js'" }],
      tests: BINDING
    },
    { name: 'a link can be opened after its end', find: 'assertPending(elicitation)\n      await assertAuthorized(services, elicitation)\n      // What', replace: 'await assertAuthorized(services, elicitation)\n      // What' },
    { name: 'a link can be opened by whoever is not allowed to', find: 'assertPending(elicitation)\n      await assertAuthorized(services, elicitation)\n      // What', replace: 'assertPending(elicitation)\n      // What', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'a link can be started after its end', find: 'assertPending(elicitation)\n      await assertAuthorized(services, elicitation)\n      const state', replace: 'await assertAuthorized(services, elicitation)\n      const state' },
    { name: 'a link can be started by whoever is not allowed to', find: 'assertPending(elicitation)\n      await assertAuthorized(services, elicitation)\n      const state', replace: 'assertPending(elicitation)\n      const state', tests: FORMS },
    { name: 'a link can be declined after its end', find: 'assertPending(own.elicitation)', replace: '', tests: FORMS },
    { name: 'a link is started without its form', find: 'await forms.check(request, visitor.principal, startAction(own, scopes))', replace: '', tests: FORMS },
    { name: 'a link is declined without its form', find: 'await forms.check(request, visitor.principal, declineAction(own))', replace: '', tests: FORMS },
    { name: 'the start form of one link starts another', find: "['start', hash, ...scopes", replace: "['start', ...scopes", tests: FORMS },
    { name: 'the decline form of one link declines another', find: "['decline', hash]", replace: "['decline']", tests: FORMS },
    { name: 'scopes that were added after the page was shown are agreed to', find: "['start', hash, ...scopes, ", replace: "['start', hash, ", tests: FORMS },
    { name: 'reasons that were added after the page was shown are agreed to', find: ', ...elicitation.reasons.map(reason => `reason ${reason}`)', replace: '', tests: FORMS },
    { name: 'a new grant lacks what was granted before', find: '[...new Set([...granted, ...elicitation.scopes])]', replace: '[...new Set(elicitation.scopes)]', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'what the provider granted without having been asked is asked for', find: 'askedAndGranted(provider, target.grant)', replace: 'target.grant.scopes', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'the state can be guessed', find: 'const state = randomToken()', replace: "const state = 's'.repeat(43)", tests: ['test/browser/state.test.ts'] },
    { name: 'the flow cookie can be guessed', find: 'const cookie = randomToken()', replace: 'const cookie = state', tests: BINDING },
    { name: 'the flow does not remember the code verifier', find: 'cookieHash: hashFlowCookie(cookie), ...secrets', replace: "cookieHash: hashFlowCookie(cookie), ...secrets, codeVerifier: 'v'.repeat(43)", tests: BINDING },
    { name: 'the flow does not remember the nonce', find: 'cookieHash: hashFlowCookie(cookie), ...secrets', replace: 'cookieHash: hashFlowCookie(cookie), codeVerifier: secrets.codeVerifier', tests: ['test/browser/malicious-provider.test.ts'] },
    { name: 'a flow is started by a redirect, to which browsers apply form-action', find: 'reply.send(leavingPage({ provider: provider.name, url }))', replace: 'reply.redirect(url.href, 303)', tests: FORMS },
    { name: 'what cannot be an id is looked for in the store', find: 'if (!RANDOM_TOKEN.test(id)) throw new NotFoundError()', replace: '', tests: PLUGIN },
    { name: 'a link that is still open is shown as done', find: "if (elicitation.status === 'completed') return", replace: "if (elicitation.status !== 'declined') return" },
    { name: 'the page does not say who is signed in', find: 'account: accountView(services, visitor, urls.elicitation(id)),', replace: "account: { label: '', switchUrl: null },", tests: BINDING },
    { name: 'the page does not say at which host', find: 'provider: { name: provider.name, host: providerHost(provider) }', replace: "provider: { name: provider.name, host: '' }", tests: BINDING },
    { name: 'that a link was opened is not told', find: "audit('elicitation.opened', auditedElicitation(own.hash, elicitation))", replace: '', tests: AUDIT },
    { name: 'that a link was started is not told', find: "audit('elicitation.started', { ...auditedElicitation(own.hash, elicitation), scopes })", replace: '', tests: AUDIT }
  ),
  ...mutationsOf('lib/browser/connections-handlers.ts', PAGES,
    { name: 'what one may not connect is offered', find: "if (!mayConnect && found.kind === 'none') continue", replace: '' },
    { name: 'what one may not connect can be connected again', find: "connect: mayConnect ? accountForm('connect', stored) : null", replace: "connect: accountForm('connect', stored)" },
    { name: 'what one may no longer connect cannot be disconnected', find: "if (!mayConnect && found.kind === 'none') continue", replace: 'if (!mayConnect) continue' },
    { name: 'the form of one provider does it to another', find: '[step, key] : [step, key, account]', replace: '[step] : [step, account]' },
    { name: 'the form for connecting disconnects', find: '[step, key] : [step, key, account]', replace: '[key] : [key, account]', tests: FORMS },
    { name: 'a provider is connected without its form', find: 'await forms.check(request, principal, actionOf(step, key, account))', replace: "if (step !== 'connect') await forms.check(request, principal, actionOf(step, key, account))", tests: FORMS },
    { name: 'a provider is disconnected without its form', find: 'await forms.check(request, principal, actionOf(step, key, account))', replace: "if (step !== 'disconnect') await forms.check(request, principal, actionOf(step, key, account))", tests: FORMS },
    { name: 'a provider is connected by whoever is not allowed to', find: 'await assertAuthorized(services, { principal, provider: key })', replace: '' },
    { name: 'what was withheld before is not asked for again', find: '...before?.grant.requestedScopes ?? [], ', replace: '', tests: ['test/guard/require-connection.test.ts'] },
    { name: 'a decline holds though the user begins by themselves', find: 'await services.declines.clear(principal, key)', replace: '', tests: ['test/browser/declining.test.ts'] },
    { name: 'disconnecting deletes nothing', find: 'await services.disconnecting.disconnect(principal, key, stored?.id)', replace: '[] as Awaited<ReturnType<typeof services.disconnecting.disconnect>>' },
    { name: 'an expired connection is shown as connected', find: 'hasEnded: hasEnded(stored, provider)', replace: 'hasEnded: false' }
  ),
  ...mutationsOf('lib/browser/services.ts', PAGES,
    { name: 'nobody in particular sends forms', find: 'if (visitor === null) throw new SignInRequiredError()', replace: 'if (visitor === null) return { principal: { issuer: "nobody", subject: "nobody" }, label: "" }' },
    { name: 'nobody in particular sees pages', find: 'if (visitor !== null) return await show(visitor, request, reply)', replace: 'return await show(visitor ?? { principal: { issuer: "nobody", subject: "nobody" }, label: "" }, request, reply)', tests: BINDING },
    { name: 'the way back after signing in is what was requested', find: 'new URL(urlOf(request)).pathname', replace: 'request.url', tests: PLUGIN },
    { name: 'a page without a sign-in address leads nowhere', find: 'if (signInUrl === null) throw new SignInRequiredError()', replace: "if (signInUrl === null) return reply.send('')", tests: PLUGIN },
    { name: 'a provider that nobody knows is a fault', find: 'if (!providers.has(key)) throw new NotFoundError()', replace: '' },
    { name: 'a host in other letters is shown like one of ours', find: 'new URL(endpoints?.authorization ?? issuer).host', replace: "(endpoints?.authorization ?? issuer).split('/')[2]!", tests: ['test/browser/input.test.ts'] }
  ),
  ...mutationsOf('lib/browser/urls.ts', PLUGIN,
    { name: 'addresses with two slashes are made', find: ".replace(/\\/+$/, '')", replace: '' },
    { name: 'a way back is any path of ours', find: 'PAGE.test(value.slice(rootPath.length)) ? value', replace: 'PAGE !== null ? value', tests: LOGIN },
    { name: 'a way back is any path', find: 'value.startsWith(rootPath) && PAGE.test(value.slice(rootPath.length))', replace: "value.startsWith('/')", tests: LOGIN },
    { name: 'a way back is anywhere', find: "typeof value === 'string' && value.startsWith(rootPath) && PAGE.test(value.slice(rootPath.length))", replace: "typeof value === 'string' && value !== ''", tests: LOGIN },
    { name: 'a way back is a path that only begins like ours', find: 'value.startsWith(rootPath) && ', replace: '', tests: LOGIN },
    { name: 'a way back may come twice', find: "typeof value === 'string' && value.startsWith(rootPath) && PAGE.test(value.slice(rootPath.length)) ? value", replace: 'value !== undefined && String(value).startsWith(rootPath) && PAGE.test(String(value).slice(0, rootPath.length + 44).slice(rootPath.length)) ? String(value)', tests: LOGIN },
    { name: 'the Host header has a say in our addresses', find: 'withQueryOf: ({ url }, address) => new URL(address + new URL(url, base).search)', replace: 'withQueryOf: ({ url, host }, address) => new URL(new URL(address).pathname + new URL(url, base).search, `https://${host}`)', tests: ['test/browser/finishing.test.ts', 'test/browser/binding.test.ts'] }
  ),
  ...mutationsOf('lib/browser/logging.ts', PAGES,
    { name: 'addresses with ids and queries are logged', find: "url: routeOptions?.url ?? '(unknown route of mcp-connect)'", replace: 'url: (arguments[0] as FastifyRequest).url' },
    { name: 'addresses that nobody knows are logged', find: "'(unknown route of mcp-connect)'", replace: '(arguments[0] as FastifyRequest).url', tests: ['test/browser/unreadable-requests.test.ts'] },
    { name: "the host's serializers are gone", find: 'Object.create(options.serializers ?? null)', replace: '{}', tests: PLUGIN }
  ),
  ...mutationsOf('lib/browser/pages/layout.ts', PAGES,
    { name: 'titles are not escaped', find: '<title>${title}</title>', replace: '<title>!${title}</title>' },
    { name: 'headings are not escaped', find: '<h1>${title}</h1>', replace: '<h1>!${title}</h1>' },
    { name: 'the address to go on to is not escaped', find: 'content="0;url=${redirect}"', replace: 'content="0;url=!${redirect}"' },
    { name: 'the label of an account is not escaped', find: '<strong>${label}</strong>', replace: '<strong>!${label}</strong>' },
    { name: 'scopes are not escaped', find: '<code>${scope}</code>', replace: '<code>!${scope}</code>' },
    { name: 'the action of a form is not escaped', find: 'action="${action}"', replace: 'action="!${action}"', tests: PLUGIN },
    { name: 'the label of a button is not escaped', find: '>${label}</button>', replace: '>!${label}</button>' },
    { name: 'a form is sent as an address', find: '<form method="post"', replace: '<form method="get"' }
  ),
  ...mutationsOf('lib/browser/pages/interaction.ts', PAGES,
    { name: 'the name of this server is not escaped', find: '<dd>${server.name}${place}', replace: '<dd>!${server.name}${place}' },
    { name: 'the name of a client is not escaped', find: '“${client}”', replace: '“!${client}”' },
    { name: 'reasons are not escaped', find: 'html`${reason}`', replace: 'reason' },
    { name: 'the name of a provider is not escaped', find: '<dd>${provider.name} at', replace: '<dd>!${provider.name} at' },
    { name: 'the link to the provider is not escaped', find: 'main" href="${url.href}"', replace: 'main" href="!${url.href}"' },
    { name: 'the page of the good end is not escaped', find: '<p>${server} can now use ${provider} for <strong>${account}</strong>', replace: '<p>!${server} can now use !${provider} for <strong>!${account}</strong>' },
    { name: 'the page of a decline is not escaped', find: '<p>Connecting ${provider} was declined, by you or by ${provider}', replace: '<p>Connecting !${provider} was declined, by you or by !${provider}' },
    { name: 'the page does not warn of links that somebody sent', find: '<p>Continue only if you started this yourself just now. If somebody sent you this link, decline.</p>\n', replace: '', tests: BINDING }
  ),
  ...mutationsOf('lib/browser/pages/connections.ts', PAGES,
    { name: 'names on the connections page are not escaped', find: '">${name}</h2>', replace: '">!${name}</h2>' },
    { name: 'what cannot be read is shown as not connected', find: "unreadable: 'Connected, but what is stored can no longer be read. Connect it again.'", replace: "unreadable: 'Not connected.'", tests: LOST_KEY }
  ),
  ...mutationsOf('lib/browser/pages/ending.ts', ['test/errors.test.ts'],
    ...ENDINGS.map(code => ({ name: `${code} has no page of its own`, find: `  ${code}: {`, replace: `  ${code}_: {` })),
    { name: 'the label of an account is not escaped on the page of a refusal', find: 'Signed in as <strong>${account}</strong>', replace: 'Signed in as <strong>!${account}</strong>', tests: PAGES },
    { name: "a code like a member of an object's own has a page", find: 'Object.hasOwn(ENDINGS, code) ? ENDINGS[code]', replace: 'code in ENDINGS ? ENDINGS[code]', tests: PLUGIN },
    { name: 'a refusal is told as a fault', find: 'status < 500 ? REFUSAL : FAILURE', replace: 'FAILURE', tests: PLUGIN },
    { name: 'a fault is told as a refusal', find: 'status < 500 ? REFUSAL : FAILURE', replace: 'REFUSAL', tests: PLUGIN },
    ...[401, 403, 413, 415, 429, 503].map(status => ({ name: `a refusal of the host with status ${status} has no page of its own`, find: `  ${status}: {`, replace: `  ${status}0: {`, tests: PLUGIN }))
  ),
  ...mutationsOf('lib/browser/mismatches.ts', IDENTITY,
    { name: 'a wrong configuration is told at the first stranger', find: 'SUSPICIOUS = 3', replace: 'SUSPICIOUS = 1' },
    { name: 'a wrong configuration is told as often as somebody comes', find: 'if (settled) return', replace: '' },
    { name: 'an attack is taken for a wrong configuration', find: 'settled = differing.length === 0 || strangers', replace: 'settled = strangers' },
    { name: 'one stranger who comes again counts as several', find: 'strangers.add(hashPrincipal(visitor))', replace: 'strangers.add(String(Math.random()))' },
    { name: 'a wrong configuration is not told', find: 'log.error(`mcp-connect: of all users', replace: 'void (`mcp-connect: of all users' }
  ),
  ...mutationsOf('lib/browser/request-notes.ts', LIMITS,
    { name: 'what is noted of one request is known in another', find: 'notes.set(request, { ...notes.get(request), ...more })', replace: 'notes.set(Object.getPrototypeOf(request), { ...notes.get(Object.getPrototypeOf(request)), ...more })', also: [{ find: 'return notes.get(request) ?? {}', replace: 'return notes.get(Object.getPrototypeOf(request)) ?? {}' }], tests: ['test/browser/forms.test.ts', 'test/browser/pages.test.ts'] }
  )
]
