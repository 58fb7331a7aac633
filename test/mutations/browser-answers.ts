/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const PAGES = ['test/browser/pages.test.ts']
const LIMITS = ['test/browser/limits.test.ts']
const PLUGIN = ['test/plugin.test.ts']
const LOGIN = ['test/browser/login.test.ts']
const REFUSED = ['test/browser/refusals.test.ts']
const ORIGINS = ['test/browser/other-origins.test.ts']
const UNREADABLE = ['test/browser/unreadable-requests.test.ts']

const HEADERS = ['content-security-policy', 'x-frame-options', 'x-content-type-options', 'referrer-policy', 'cache-control',
  'cross-origin-opener-policy', 'cross-origin-resource-policy', 'x-robots-tag']

const REFUSALS = ['EXPIRED', 'STATE_INVALID', 'CONTEXT_MISMATCH', 'FLOW_COOKIE_MISSING', 'ISS_MISMATCH', 'RESPONSE_INVALID', 'SESSION_LOST',
  'CSRF_FAILED', 'ORIGIN_MISMATCH', 'FORM_INVALID', 'SIGN_IN_INVALID', 'SIGN_IN_DECLINED', 'CONSUMED', 'SIGN_IN_REQUIRED']

/** What every answer has, and what is told of those that end without success. */
export const answers = [
  ...mutationsOf('lib/browser/headers.ts', PAGES,
    ...HEADERS.map(name => ({ name: `${name} is not sent`, find: name.includes('-') ? `    '${name}': ` : `    ${name}: `, replace: `    'x-${name}': ` })),
    { name: 'pages may load anything', find: "default-src 'none'; ", replace: '' },
    { name: 'pages may have any style', find: "style-src 'sha256-${styleHash}'; ", replace: '' },
    { name: 'pages may have styles of their own making', find: "style-src 'sha256-${styleHash}'", replace: "style-src 'unsafe-inline'" },
    { name: 'forms may be sent anywhere', find: "form-action 'self'; ", replace: '' },
    { name: 'pages may be framed, says the content security policy', find: "frame-ancestors 'none'; ", replace: '' },
    { name: 'addresses of a page may be relative to another', find: "; base-uri 'none'", replace: '' },
    { name: 'pages may be framed by their own site', find: "'DENY'", replace: "'SAMEORIGIN'" },
    { name: 'browsers send no origin with our own forms', find: "'referrer-policy': 'same-origin'", replace: "'referrer-policy': 'no-referrer'" },
    { name: 'addresses are sent to other sites', find: "'referrer-policy': 'same-origin'", replace: "'referrer-policy': 'unsafe-url'" },
    { name: 'pages may be kept', find: "'no-store'", replace: "'no-cache'" },
    { name: 'a cache gives pages of one user to another', find: "[...names, 'Accept', 'Cookie']", replace: "[...names, 'Accept']" },
    { name: 'a cache gives JSON to who takes pages', find: "[...names, 'Accept', 'Cookie']", replace: "[...names, 'Cookie']", tests: PLUGIN },
    { name: 'what the host says of caches is gone', find: "[...names, 'Accept', 'Cookie']", replace: "['Accept', 'Cookie']", tests: PLUGIN },
    { name: 'browsers may come without TLS', find: "...secure && { 'strict-transport-security': 'max-age=31536000' }", replace: '' },
    { name: 'browsers on loopback without TLS are sent to TLS', find: "...secure && { 'strict", replace: "...{ 'strict" },
    { name: 'other origins may read our pages when the host says so', find: "if (!name.startsWith('access-control-')) continue", replace: "if (!name.startsWith('-')) continue", tests: ORIGINS },
    { name: 'other origins may read our pages when the host says so past Fastify', find: "if (!name.startsWith('access-control-')) continue", replace: "if (!name.startsWith('access-control-') || reply.raw.hasHeader(name)) continue", tests: ORIGINS }
  ),
  ...mutationsOf('lib/browser/routes.ts', PAGES,
    { name: 'bodies of any type are parsed', find: 'app.removeAllContentTypeParsers()', replace: '' },
    { name: 'forms may be of any size', find: '{ bodyLimit: BODY_LIMIT }', replace: '{}' },
    { name: 'answers have no headers', find: '=> writeHeaders(reply, services.urls.secure)', replace: '=> {}' },
    { name: 'hooks that are added after the plugin have the last word', find: "app.addHook('onRoute', route => { route.onSend = [route.onSend ?? [], headers].flat() })", replace: '', tests: PLUGIN },
    { name: 'redirects have no content type', find: "app.addHook('onRequest', async (_request, reply) => { reply.type(HTML) })", replace: '' },
    { name: 'visitors are not limited', find: 'await services.limits.check(request, visitor)', replace: '', tests: LIMITS },
    { name: 'errors are answered by the host', find: 'app.setErrorHandler(handleError)', replace: '' },
    { name: 'addresses that nobody knows are answered by the host', find: 'app.setNotFoundHandler((request, reply) => handleError(new NotFoundError(), request, reply))', replace: '', tests: UNREADABLE },
    { name: 'HEAD runs the handlers of GET', find: 'app.route({ method, url, handler, exposeHeadRoute: false })', replace: "app.route({ method: method === 'GET' ? ['GET', 'HEAD'] : method, url, handler, exposeHeadRoute: false })", also: [{ find: 'other => other !== method', replace: "other => other !== method && other !== 'HEAD'" }] },
    { name: 'Fastify adds HEAD to the routes of GET', find: 'handler, exposeHeadRoute: false })', replace: 'handler })', tests: PLUGIN },
    { name: 'it is not said which method there is', find: "reply.header('allow', method)", replace: '' },
    { name: 'other methods are not there', find: 'throw new MethodNotAllowedError()', replace: 'throw new NotFoundError()' },
    { name: 'the login is there for applications that have their own', find: 'if (services.login !== null) {', replace: 'if (services !== null) {', tests: LOGIN }
  ),
  ...mutationsOf('lib/browser/navigation.ts', ['test/browser/navigation.test.ts'],
    { name: 'an answer may come inside of a page', find: "destination !== 'document' || inAdvance", replace: 'inAdvance' },
    { name: 'an answer may be loaded in advance', find: "destination !== 'document' || inAdvance", replace: "destination !== 'document'" },
    { name: 'browsers that say nothing of it cannot come back', find: "'sec-fetch-dest': destination = 'document'", replace: "'sec-fetch-dest': destination" },
    ...['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].map((name, i) => ({ name: `${name} says nothing`, find: i === 0 ? `['${name}', ` : `, '${name}'`, replace: i === 0 ? '[' : '' })),
    ...['prefetch', 'prerender', 'preview'].map((purpose, i) => ({ name: `a ${purpose} counts as a visit`, find: i === 0 ? `/${purpose}|` : `|${purpose}`, replace: i === 0 ? '/' : '' })),
    { name: 'a purpose in capital letters says nothing', find: '/i.test(', replace: '/.test(' }
  ),
  ...mutationsOf('lib/browser/unreadable-addresses.ts', UNREADABLE,
    { name: 'an address of ours that cannot be decoded is repeated', find: 'if (!`${requested}/`.startsWith(`${path}/`)) return', replace: 'if (path !== null) return' },
    { name: 'an address of the host that cannot be decoded is taken', find: 'if (!`${requested}/`.startsWith(`${path}/`)) return', replace: '' },
    { name: 'an address of the host that begins like ours is taken', find: '`${requested}/`.startsWith(`${path}/`)', replace: 'requested.startsWith(path)' },
    { name: 'an address in absolute form that cannot be decoded is repeated', find: '(?:https?:\\/\\/[^/?#]*)?', replace: '' },
    { name: 'a query that cannot be decoded counts', find: 'decodeURIComponent(path)', replace: 'decodeURIComponent(path.slice(0, 1))' },
    { name: 'an address of ours loses its query', find: 'requested + query', replace: 'requested', tests: PLUGIN }
  ),
  ...mutationsOf('lib/browser/client-errors.ts', UNREADABLE,
    { name: 'the bytes of a request that cannot be parsed are logged', find: "Object.defineProperty(error, 'rawPacket', { enumerable: false })", replace: 'void error' }
  ),
  ...mutationsOf('lib/browser/error-handler.ts', PLUGIN,
    { name: "what somebody says under a code like Fastify's is taken for ours", find: "typeof code === 'string' && OURS.test(code) ? code", replace: "typeof code === 'string' ? code" },
    { name: 'a code that only ends like ours is taken for ours', find: '/^FST_(MCP', replace: '/FST_(MCP' },
    { name: 'the status of an error is always 500', find: '[statusCode, status, reply.statusCode].find(isErrorStatus) ?? 500', replace: '500' },
    { name: 'a status that was set before an error is forgotten', find: '[statusCode, status, reply.statusCode]', replace: '[statusCode, status]' },
    { name: 'a status called status is ignored', find: '[statusCode, status, reply.statusCode]', replace: '[statusCode, reply.statusCode]' },
    { name: 'an error may have any status', find: '[statusCode, status, reply.statusCode].find(isErrorStatus) ?? 500', replace: '([statusCode, status].find(one => typeof one === "number") ?? 500) as number' },
    { name: 'an error may have a status that is no number', find: 'Number.isInteger(status) && ', replace: '' },
    { name: 'an error whose properties throw ends the request without an answer', find: "} catch {\n    return { code: '', status: 500 }", replace: '} catch (error) {\n    throw error' },
    { name: 'an error that cannot be logged ends the request without an answer', find: '} catch {\n      request.log.error', replace: '} catch (error) {\n      throw error\n      request.log.error' },
    { name: 'what is no error is logged as it is', find: "thrown instanceof Error ? thrown : new Error('something that is no Error was thrown')", replace: 'thrown as Error' },
    { name: 'faults of the host are not told', find: "if (code !== '' || status >= 500) tellRefusal", replace: "if (code !== '') tellRefusal" },
    { name: 'refusals of the host are told like ours', find: "if (code !== '' || status >= 500) tellRefusal", replace: "if (code !== '' || status >= 400) tellRefusal" },
    { name: 'refusals of the host are not logged', find: 'else request.log.warn({ route', replace: 'else void ({ route' },
    { name: 'what is refused before anybody is known is not limited', find: 'return await limits.check(request, null).then(() => refusal, (error: unknown) => error)', replace: 'return refusal', tests: LIMITS },
    { name: 'what is refused of a user counts for the address', find: 'recall(request).visitor !== undefined || code', replace: 'code', tests: LIMITS },
    { name: 'refusals of the host count', find: "visitor !== undefined || code === '' || status >= 500", replace: 'visitor !== undefined || status >= 500', tests: LIMITS },
    { name: 'faults count', find: "code === '' || status >= 500", replace: "code === ''", tests: LIMITS },
    { name: 'nobody is told how long to wait', find: "if (thrown instanceof RateLimitedError) reply.header('retry-after', Math.ceil(thrown.retryAfterMs / 1000))", replace: '', tests: LIMITS },
    { name: 'a time to wait is told in milliseconds', find: 'Math.ceil(thrown.retryAfterMs / 1000)', replace: 'Math.ceil(thrown.retryAfterMs)', tests: LIMITS },
    { name: 'an error is answered with success', find: 'reply.code(status)\n', replace: '\n', tests: PAGES },
    { name: 'who takes JSON is answered with a page', find: 'if (wantsJson(request)) return', replace: 'if (request === null) return', tests: LIMITS },
    { name: 'who takes pages is answered with JSON', find: " && !accept.includes('text/html')", replace: '', tests: LIMITS },
    { name: 'JSON says what was thrown', find: 'message: ending.text }', replace: 'message: (thrown as Error).message }', tests: LIMITS },
    { name: 'a page is sent as text', find: 'reply.type(HTML).send(endingPage', replace: "reply.type('text/plain').send(endingPage", tests: PAGES },
    { name: 'every page of a refusal names the account', find: "shortCode(code) === 'SUBJECT_MISMATCH' ? recall(request).visitor?.label : undefined", replace: 'recall(request).visitor?.label', tests: PAGES },
    { name: 'the page for somebody else does not say who is signed in', find: "shortCode(code) === 'SUBJECT_MISMATCH' ? recall(request).visitor?.label : undefined", replace: 'undefined', tests: LOGIN },
    { name: 'a login that fails ends the request without an answer', find: "request.log.error({ err: error }, 'mcp-connect: browser.signInUrl failed')\n      return null", replace: 'throw error' },
    { name: 'somebody else is not offered another account', find: '(visitor === null ? null : findSwitchAccountUrl(browser, returnTo)) ?? findSignInUrl', replace: 'findSignInUrl', tests: LOGIN },
    { name: 'after a refusal there is no way back to the link', find: "if (way === 'retry' && elicitationId !== undefined) return", replace: 'if (way === null) return', tests: ['test/browser/forms.test.ts'] },
    { name: 'whoever has to wait for another tab cannot look again', find: "if (way === 'look again' && elicitationId !== undefined) return", replace: 'if (way === null) return', tests: ['test/browser/finishing.test.ts'] }
  ),
  ...mutationsOf('lib/browser/refusals.ts', REFUSED,
    ...REFUSALS.map(code => ({ name: `${code} has no event of its own`, find: `  ${code}: '${code === 'ISS_MISMATCH' ? 'callback' : ''}`, replace: `  ${code}_: '${code === 'ISS_MISMATCH' ? 'callback' : ''}` })),
    { name: 'another user at a link has no event of its own', find: 'about !== undefined && mismatch !== undefined', replace: 'about === undefined && mismatch !== undefined' },
    { name: 'how a configuration is mended that tells tenants apart is not logged', find: 'code, differing }, { ...details, reason })', replace: 'code, differing }, details)', tests: ['test/browser/identity.test.ts'] },
    { name: 'who was turned down is not told', find: 'visitor === null ? {} : auditIdsOf(visitor.principal)', replace: '{}' },
    { name: 'what a request was about is not told', find: '...about, code: code', replace: 'code: code' },
    { name: 'any text in the place of a provider is told', find: '...providers.has(provider) && { provider }', replace: '...{ provider }' },
    { name: 'the code of a refusal is not told', find: "...about, code: code === '' ? OTHER : code", replace: '...about, code: OTHER' },
    { name: 'why a request was turned down is not logged', find: "...shortCode(code) !== '' && { reason: error.message }", replace: '...{}', tests: ['test/browser/forms.test.ts'] },
    { name: 'what somebody says under a code of Fastify is logged', find: "...shortCode(code) !== '' && { reason", replace: '...{ reason', tests: PLUGIN },
    { name: 'the cause of a fault is not logged', find: '...status >= 500 && fault !== undefined && { err: fault }', replace: '...{}', tests: ['test/browser/finishing.test.ts', 'test/plugin.test.ts'] },
    { name: 'the first one that was too many is not told', find: "if (first) audit('ratelimit.hit'", replace: "if (limit === null) audit('ratelimit.hit'", tests: LIMITS },
    { name: 'each one that was too many is told', find: "if (first) audit('ratelimit.hit'", replace: "if (limit !== null) audit('ratelimit.hit'", tests: LIMITS },
    { name: 'an answer that was used again is told like a link', find: '[route, AT_CALLBACK]', replace: "['//', AT_CALLBACK]" },
    { name: 'a link that was used is told like an answer', find: '[route, AT_CALLBACK]', replace: "['', AT_CALLBACK]" },
    { name: 'another issuer at the login is told like at a provider', find: "  ISS_MISMATCH: 'session.refused'", replace: "  ISS_MISMATCH_: 'session.refused'" },
    { name: 'what is behind a refusal is logged', find: 'status >= 500 && fault !== undefined', replace: 'fault !== undefined', tests: PLUGIN },
    { name: 'a fault is told like a refusal', find: "status < 500 ? 'request.refused' : 'request.failed'", replace: "'request.refused'" },
    { name: 'a refusal is told like a fault', find: "status < 500 ? 'request.refused' : 'request.failed'", replace: "'request.failed'" }
  )
]
