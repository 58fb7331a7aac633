import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EndpointServer } from '../../lib/endpoint/index.js'
import { CLIENTS, clientsFolder, createRunner } from '../fixtures/clients.js'
import { everythingOfV1, everythingOfV2 } from '../fixtures/everything.js'
import { leaveOut } from '../fixtures/leave-out.js'
import { startMcpServer } from '../fixtures/mcp-server.js'
import type { TestServer } from '../fixtures/server.js'

t.setTimeout(600_000)

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

/** Runs the suite of one version against an endpoint. @returns each check that did not pass, by `scenario/check` */
async function check (t: Test, version: string, createServer: (server: TestServer) => EndpointServer, args: readonly string[]) {
  const { server, url, token, browser, connect } = await startMcpServer(t, createServer)
  // The suite sends no access token, and its user has connected.
  server.app.server.prependListener('request', ({ headers }) => { headers.authorization ??= `Bearer ${token}` })
  await connect(String((await browser.press('/connect', '/acme/connect')).headers.location))

  const folder = t.testdir()
  const { run } = createRunner(t)
  await run(`${version}/dist/index.js`, 'server', '--url', url, '--output-dir', folder, ...args)
  const failed: Record<string, string> = {}
  let passed = 0
  for (const scenario of readdirSync(folder)) {
    if (scenario.startsWith('server-tasks-')) continue     // an extension, which servers may have
    for (const { id, status, errorMessage } of JSON.parse(readFileSync(join(folder, scenario, 'checks.json'), 'utf8')) as Check[]) {
      if (status === 'SUCCESS') passed++
      if (status === 'FAILURE' || status === 'WARNING') failed[`${scenario.replace(/^server-|-\d{4}-.*$/g, '')}/${id}`] = `${errorMessage}`
    }
  }
  return { passed, failed }
}

const NO_REPLAY = 'the endpoint keeps no events: a client whose stream breaks calls again'
const NO_BUS = "a server made for each request has no list to change; 2026-07-28 tells of changes through createMcpHandler's notifier, which the endpoint does not hand out"

/** What does not pass, and why. */
const REPLAY = { 'server-sse-polling/server-sse-priming-event': NO_REPLAY, 'server-sse-polling/server-sse-retry-field': NO_REPLAY }
const NOT_IN_V1 = { 'json-schema/json-schema-2020-12-tool-found': 'SDK v1 takes no JSON Schema of a tool, but zod alone' }
const LISTS = { 'server-stateless/sep-2575-server-sends-prompts-list-changed-on-subscription': NO_BUS, 'server-stateless/sep-2575-server-sends-tools-list-changed-on-subscription': NO_BUS }

if (clientsFolder === undefined) {
  leaveOut(t, 'of the conformance suite', `install it into a folder (npm install --prefix FOLDER ${CLIENTS}) and run the tests with MCP_CLIENTS=FOLDER`)
} else {
  for (const [title, version, createServer, args, expected, atLeast] of [
    ['2025-11-25, a server of SDK v1', 'conformance-0.1', everythingOfV1, ['--suite', 'all'], { ...REPLAY, ...NOT_IN_V1 }, 40],
    ['2025-11-25, a server of SDK v2', 'conformance-0.1', everythingOfV2, ['--suite', 'all'], REPLAY, 44],
    ['2026-07-28, a server of SDK v2', 'conformance-0.2', everythingOfV2, ['--requirements', '2026-07-28'], LISTS, 150]
  ] as const) {
    t.test(`conformance to ${title}`, async t => {
      const { passed, failed } = await check(t, version, createServer, args)
      t.comment(`${passed} checks passed`)
      t.ok(passed >= atLeast, 'the suite has run')
      t.strictSame(Object.keys(failed).sort(), Object.keys(expected).sort(), JSON.stringify(failed))
    })
  }
}
