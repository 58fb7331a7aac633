import { allowLoopbackHttp } from 'fastify-mcp-connect/client'
import { once } from 'node:events'
import { signInClient } from './client-sign-in.js'
import { describe, HttpBrowser } from './http-browser.js'
import { acmeCustomers, demoPassword, employees } from './people.js'
import type { Demo } from './start.js'
import { connectTerminalClient, type TerminalClient } from './terminal-client.js'
import { visit } from './visitor.js'

export interface StoryOptions {
  /** Do the clicks over HTTP, or wait for a person with a browser. */
  readonly auto: boolean
  /** Ends the story early. */
  readonly signal: AbortSignal
  /** Takes one line. */
  readonly say: (line: string) => void
}

const clickingTimeoutMs = 10 * 60 * 1000

/** Tells the main path, step by step, while it happens. */
export async function tellStory (demo: Demo, { auto, signal, say }: StoryOptions): Promise<void> {
  let number = 0
  const step = (line: string) => { say(`\n${number += 1}. ${line}`) }
  const detail = (line: string) => { say(`   ${line.replaceAll('\n', '\n   ')}`) }
  const [alice] = employees
  const [acmeAlice] = acmeCustomers
  if (alice == null || acmeAlice == null) throw new Error('nobody has an account')

  step('Everything runs, on loopback only.')
  detail(`MCP endpoint          ${demo.mcpUrl}`)
  detail(`Authorization server  ${demo.authorizationServer.issuer}  (Example Corp: whose users call tools)`)
  detail(`Acme                  ${demo.acme.issuer}  (the third party), API at ${demo.acme.apiOrigin}`)

  step(`The MCP client signs in as ${alice.login}: authorization code with PKCE, clicked through over HTTP without a browser.`)
  const tokens = await signInClient({ mcpUrl: demo.mcpUrl, ...demo.client, login: alice.login })
  detail('It now has an access token for the MCP endpoint. The token is for this endpoint alone; Acme would not take it.')

  let asked = false
  const client = await connectTerminalClient({
    mcpUrl: demo.mcpUrl,
    accessToken: tokens.accessToken,
    signal,
    elicitation: {
      timeoutMs: clickingTimeoutMs,
      [allowLoopbackHttp]: true,
      async consent ({ url, message }) {
        asked = true
        detail('Alice has not connected Acme, so the guard answers instead of the tool.')
        detail('The JSON-RPC error, as it came over the wire:')
        detail(JSON.stringify(client.lastError, null, 2))
        detail(`Message: ${message}`)
        detail(`Link:    ${url}`)
        return 'open'
      },
      async open (url) {
        if (auto) {
          step('Alice opens the link. This run clicks for her, over HTTP with cookies.')
          await click(url, alice.login, acmeAlice.login, detail)
          return
        }
        step('Open the link in a browser. The client waits for the server to say that it is done.')
        detail(`At Example Corp (the app) sign in as: ${alice.login}, password: ${demoPassword}`)
        detail(`At Acme sign in as: ${acmeAlice.login} (no password), then allow.`)
        detail('Or sign in at Example Corp as bob, to see that a link works for nobody but the one who asked.')
      }
    }
  })
  try {
    step('The client opens an MCP session and says that it can show links (capability elicitation.url).')
    detail(`Tools: ${(await client.toolNames()).join(', ')}`)

    step('It calls list-issues.')
    const result = await resultOf(client, 'list-issues', { state: 'open' })
    if (asked) step('Notification: notifications/elicitation/complete, with the id of this elicitation. The client calls list-issues again.')
    detail(`Result: ${result}`)
    if (!asked) detail(`No link this time: Alice connected Acme in an earlier run, and the connection was found in ${demo.database}`)

    step('It calls count-issues, another tool that needs Acme. The connection is there already.')
    detail(`Result: ${await resultOf(client, 'count-issues')}`)
  } finally {
    await client.close()
  }
  step('The client has ended its MCP session. The connection stays: the next run finds it, for a day.')
  detail('To begin anew: npm run demo -- --fresh')
  if (auto) return
  step('The servers stay up, so that you can look around. Ctrl-C ends them.')
  detail(`Your connections: ${demo.app.mcpConnect.connectionsUrl}`)
  await interruption(signal)
}

/** Waits for Ctrl-C. The servers keep the process alive meanwhile. */
async function interruption (signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await once(signal, 'abort')
}

async function click (url: string, login: string, acmeLogin: string, detail: (line: string) => void): Promise<void> {
  const last = await visit(new HttpBrowser(), url, {
    login,
    password: demoPassword,
    acmeLogin,
    onPage: (page, what) => { detail(`${page.url.host}  ${page.title}: ${what}`) }
  })
  detail(`${last.url.host}  ${last.title}`)
  if (last.status !== 200 || !last.url.pathname.endsWith('/done')) throw new Error(`the clicks ended on the page ${describe(last)}`)
}

async function resultOf (client: TerminalClient, tool: string, args?: Record<string, unknown>): Promise<string> {
  const answer = await client.callTool(tool, args)
  if (answer.kind === 'url') throw new Error(`${tool} was not called again`)
  if (answer.isError) throw new Error(`${tool} failed: ${answer.text}`)
  return answer.text
}
