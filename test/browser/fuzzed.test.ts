import t from 'tap'
import { createWire } from '../fuzz/wire.js'
import { findForm } from '../fixtures/browser.js'
import { A, startServer } from '../fixtures/server.js'

/*
 * What the fuzzer has found.
 */

t.test('LOG-03 an address that cannot be read leads to a page of ours, and is repeated neither there nor in the log', async t => {
  const server = await startServer(t)
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  const send = createWire(server.app.server)
  const get = async (target: string): Promise<string> => {
    const { answers } = await send(`GET ${target} HTTP/1.1\r\nhost: mcp.example.com\r\nconnection: close\r\n\r\n`)
    t.equal(answers.length, 1)
    return answers[0]!
  }
  const query = 'code=canary-code&state=canary-state'
  for (const path of [
    '/connect/callback/%E0%A4%A', '/connect/%', '/connect/%E0%A4%A/done', '/connect/canary;%FF',
    `/connect/callback/${'canary'.repeat(20)}`, `/connect/${'a'.repeat(101)}`, `/connect/${'a'.repeat(101)}/done`, `/connect/${'%61'.repeat(101)}`,
    'http://mcp.example.com/connect/%FF', 'http://mcp.example.com/connect/canary#', `https://mcp.example.com/connect/${'a'.repeat(101)}`
  ]) {
    const answer = await get(`${path}?${query}`)
    t.match(answer, /^HTTP\/1\.1 404 .*\r\ncontent-security-policy: default-src 'none';.*<h1>Nothing here<\/h1>/s, path)
    t.notMatch(answer, /canary|FST_ERR/, path)
  }
  t.notMatch(server.log.join(''), 'canary')
  t.match(await get('http://mcp.example.com/connect?code=x'), /^HTTP\/1\.1 303 .*location: \/login\?returnTo=%2Fconnect\r\n/s, 'a whole address is read')
  t.match(await get('/connected/%FF'), 'FST_ERR_BAD_URL', 'an address of the host is the host\'s')
})

t.test('BRW-07 a token of a form is taken as it was made alone, and not what decodes to the same', async t => {
  const server = await startServer(t)
  const browser = server.browser(A)
  const { action, fields: { csrf = '' } } = findForm(await browser.get('/connect'), '/acme/connect')
  // The last of 43 characters holds two bits that no byte has.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const twin = csrf.slice(0, -1) + alphabet[alphabet.indexOf(csrf.at(-1)!) ^ 1]
  for (const changed of [twin, `${csrf}=`, `${csrf}.x`, `${csrf.slice(0, -9)}{}${csrf.slice(-9)}`, `${csrf} `, `${csrf.slice(0, -1)}\u00E9`]) {
    t.equal((await browser.post(action, { csrf: changed })).statusCode, 403, changed.slice(-12))
  }
  t.equal((await browser.post(action, { csrf })).statusCode, 303)
})
