import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { callTool } from '../../examples/client.js'
import { signInClient } from '../../examples/demo/client-sign-in.js'
import { HttpBrowser } from '../../examples/demo/http-browser.js'
import { acmeCustomers, demoPassword, employees } from '../../examples/demo/people.js'
import { startDemo } from '../../examples/demo/start.js'
import { visit } from '../../examples/demo/visitor.js'
import { allowLoopbackHttp, type UrlRequest } from '../../lib/client/index.js'
import { memoryStore } from '../../lib/index.js'

t.setTimeout(400_000)

t.test('the client asks, opens, waits for the notification of this package\'s own server, and calls again', async t => {
  const demo = await startDemo({ connect: { store: memoryStore() } })
  t.teardown(() => demo.close())
  const { accessToken } = await signInClient({ mcpUrl: demo.mcpUrl, ...demo.client, login: employees[0]!.login })
  const asked: UrlRequest[] = []
  const opened: string[] = []
  const call = async (): Promise<unknown> => await callTool(demo.mcpUrl, await accessToken(), 'count-issues', {
    async consent (request) { asked.push(request); return 'open' },
    async open (url) {
      opened.push(url)
      await visit(new HttpBrowser(), url, { login: employees[0]!.login, password: demoPassword, acmeLogin: acmeCustomers[0]!.login, onPage: () => {} })
    },
    [allowLoopbackHttp]: true
  })
  const result = await call()
  t.notOk((result as { isError?: boolean }).isError)
  t.match(result, { content: [{ type: 'text', text: /\d/ }] })
  t.match(asked, [{ url: opened[0], message: /^Connect Acme/, host: { ascii: /^(?:localhost|127\.0\.0\.1)$/ } }])
  await call()
  t.equal(asked.length, 1, 'the connection is there')
})

for (const [typed, answer] of [['y', 'open'], ['n', 'decline'], ['', 'cancel'], ['yes!', 'cancel'], ['toString', 'cancel']] as const) {
  t.test(`in the terminal, ${JSON.stringify(typed)} is ${answer}`, async t => {
    const request: UrlRequest = { url: 'https://xn--bcher-kva.example/x', host: { ascii: 'xn--bcher-kva.example', unicode: 'bücher.example' }, message: 'Connect it.', warnings: ['punycode'], server: 'test' }
    const program = `const { consent } = await import('./examples/client.ts')
      console.log('answer:', await consent(${JSON.stringify(request)}, { signal: new AbortController().signal }))`
    const child = spawn(process.execPath, ['--import=tsx', '--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end(`${typed}\n`)
    const [printed] = await Promise.all([text(child.stdout), once(child, 'close')])
    t.match(printed, new RegExp(`answer: ${answer}\\n$`))
    for (const shown of [request.url, request.host.ascii, request.host.unicode, request.message, 'punycode']) t.ok(printed.includes(shown), shown)
  })
}
