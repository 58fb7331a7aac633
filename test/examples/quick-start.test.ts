import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'

if (!existsSync('dist/cjs/index.js')) throw new Error('dist/ is missing, and this test runs the built package: npm run build')

/** Runs with plain node, without the test runner's loaders. Among the lines of the log it prints what the MCP server sent last. */
const program = `
  const { Client } = require('@modelcontextprotocol/sdk/client/index.js')
  const { InMemoryTransport } = require('@modelcontextprotocol/sdk/inMemory.js')
  const { app, createServer } = require('./examples/quick-start/app.cjs')

  async function main () {
    await app.ready()
    const [clientSide, serverSide] = InMemoryTransport.createLinkedPair()
    const authInfo = { token: 'token', clientId: 'client-1', scopes: [], extra: { iss: 'https://login.example.com', sub: 'a' } }
    const ask = clientSide.send.bind(clientSide)
    const answer = serverSide.send.bind(serverSide)
    let last
    clientSide.send = message => ask(message, { authInfo })
    serverSide.send = message => answer(last = message)
    await createServer().connect(serverSide)
    const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities: { elicitation: { url: {} } } })
    await client.connect(clientSide)
    await client.callTool({ name: 'list-issues' }).catch(() => {})
    await client.close()
    await app.close()
    console.log(JSON.stringify(last))
  }
  main()`

t.test('the first example in CommonJS asks for the connection', async t => {
  const env = {
    PATH: process.env['PATH'],
    CONNECT_KEY: randomBytes(32).toString('base64'),
    GITHUB_CLIENT_ID: 'id',
    GITHUB_CLIENT_SECRET: 'secret',
    LOGIN_CLIENT_ID: 'id',
    LOGIN_CLIENT_SECRET: 'secret'
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], { env })
  const lines = stdout.trim().split('\n').map(line => JSON.parse(line) as { jsonrpc?: string })
  t.match(lines.filter(line => line.jsonrpc), [{
    error: { code: -32042, data: { elicitations: [{ mode: 'url', message: 'Connect GitHub to list your issues.', url: /^https:\/\/mcp\.example\.com\/connect\/[\w-]{43}$/ }] } }
  }])
})
