import cors from '@fastify/cors'
import CachePolicy from 'http-cache-semantics'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { findForm, USER_HEADER, type TestBrowser } from '../fixtures/browser.js'
import { headerFaults } from '../fixtures/headers.js'
import { A, B, startServer, type TestServer } from '../fixtures/server.js'

/** One answer of each kind, for this browser. */
async function everyAnswer (server: TestServer, browser: TestBrowser, headers: Record<string, string>): Promise<Readonly<Record<string, LightMyRequestResponse>>> {
  const { url } = await server.elicit(A)
  const page = await browser.get(url, headers)
  const { action, fields } = findForm(page, '/start')
  const callback = await server.untilCallback(browser, url)
  return {
    'a page': page,
    'the connections page': await browser.get('/connect', headers),
    'the page after the button': await browser.post(action, fields),
    'a page for nobody': await server.browser(null).get(url, headers),
    'a page for somebody else': await server.browser(B).get(url, headers),
    'a form from elsewhere': await browser.post(action, fields, headers),
    'an answer without a state': await browser.get('/connect/callback/acme', headers),
    'an answer': await browser.get(callback.href, headers),
    'the same again': await browser.get(callback.href, headers),
    'the last page': await browser.get(`${url}/done`, headers),
    nothing: await browser.get('/connect/no/such/page', headers),
    'another method': await browser.get(`${url}/start`, headers),
    JSON: await browser.get('/connect/no/such/page', { ...headers, accept: 'application/json' })
  }
}

t.test('BRW-23 a host that lets every origin in, with credentials, does not let it in to our pages', async t => {
  const server = await startServer(t, {
    async host (app) {
      await app.register(cors, { origin: true, credentials: true })
      app.get('/own', async () => 'own')
    }
  })
  const shared = { 'access-control-allow-origin': 'https://other.example', 'access-control-allow-credentials': 'true' }
  const headers = { origin: 'https://other.example' }
  // The watch over the test looks for these headers, too.
  for (const [kind, answer] of Object.entries(await everyAnswer(server, server.browser(A), headers))) t.strictSame(headerFaults(answer.headers, true), [], kind)
  t.match((await server.app.inject({ url: '/own', headers })).headers, shared, 'its own pages it lets in to')

  const preflight = async (url: string, method: string): Promise<LightMyRequestResponse> => await server.app.inject({
    method: 'OPTIONS', url, headers: { ...headers, 'access-control-request-method': method, 'access-control-request-headers': 'x-any', [USER_HEADER]: JSON.stringify(A) }
  })
  for (const [url, method] of [['/connect', 'GET'], [`/connect/${'x'.repeat(43)}`, 'GET'], [`/connect/${'x'.repeat(43)}/start`, 'POST'], ['/connect/callback/acme', 'GET'],
    ['/connect/providers/acme/disconnect', 'POST'], ['/connect/no/such/page', 'PUT']] as const) {
    t.strictSame(headerFaults((await preflight(url, method)).headers, true), [], `preflight of ${method} ${url}`)
  }
  t.match((await preflight('/own', 'GET')).headers, shared)
})

t.test('BRW-23 nor does one whose middleware writes the headers past Fastify', async t => {
  const server = await startServer(t, {
    host: app => app.addHook('onRequest', async (_request, { raw }) => {
      raw.setHeader('access-control-allow-origin', 'https://other.example').setHeader('access-control-allow-credentials', 'true')
    })
  })
  const { headers } = await server.browser(A).get('/connect', { origin: 'https://other.example' })
  t.strictSame(Object.keys(headers).filter(name => name.startsWith('access-control-')), [])
})

t.test('BRW-24 no answer of ours may be kept by a cache that others share', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  const request = { url: '/connect', method: 'GET', headers: {} }
  for (const [kind, { statusCode, headers }] of Object.entries(await everyAnswer(server, browser, {}))) {
    const policy = new CachePolicy(request, { status: statusCode, headers: headers as Record<string, string> })
    t.equal(policy.storable(), false, kind)
    t.equal(policy.satisfiesWithoutRevalidation(request), false, kind)
  }
  const cacheable = new CachePolicy(request, { status: 200, headers: { 'cache-control': 'public, max-age=60' } })
  t.equal(cacheable.storable() && cacheable.satisfiesWithoutRevalidation(request), true, 'others may be')
})
