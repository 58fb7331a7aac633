import { once } from 'node:events'
import t from 'tap'
import { registerCopyIssues } from '../../examples/two-providers.js'
import { startWithThirdParties, type ThirdParty } from '../fixtures/third-parties.js'

const github: ThirdParty = {
  name: 'GitHub',
  scope: 'repo',
  apiOrigin: 'https://api.github.com',
  api: ({ url }) => new URL(url).pathname === '/issues' ? Response.json([{ title: 'The tea is cold' }, { title: 'The clock is slow' }]) : new Response(null, { status: 404 })
}
const gitlab: ThirdParty = {
  name: 'GitLab',
  scope: 'api',
  apiOrigin: 'https://gitlab.com',
  async api (request) {
    if (`${request.method} ${request.url}` !== 'POST https://gitlab.com/api/v4/projects/tea%2Fparty/issues') return new Response(null, { status: 404 })
    const { description } = await request.json() as Record<string, string>
    return new Response(null, { status: description === 'The tea is cold\nThe clock is slow' ? 201 : 400 })
  }
}
const copy = { name: 'copy-issues', arguments: { project: 'tea/party' } }

t.test('both providers are asked for in one answer, and the tool runs once both are connected', async t => {
  const { open, connect } = await startWithThirdParties(t, { github, gitlab })
  const { client, wire } = await open(registerCopyIssues)
  const error = await client.callTool(copy).catch(error => error)
  t.match(error, { code: -32042, elicitations: [{ message: 'Connect GitHub to list your issues.' }, { message: 'Connect GitLab to create one.' }] })
  t.match(wire.at(-1), { error: { code: -32042, data: { elicitations: [{ mode: 'url' }, { mode: 'url' }] } } })

  const [first, second] = error.elicitations
  await connect(first.url)
  t.match(await client.callTool(copy).catch(error => error.elicitations), [second], 'what is left is asked for as before')
  await connect(second.url)
  t.match(await client.callTool(copy), { content: [{ text: 'Copied 2 issues to tea/party' }] })
  t.match(await client.callTool({ ...copy, arguments: { project: '../users' } }), { isError: true, content: [{ text: 'GitLab answered with status 404' }] })
})

t.test('a call that the client cancels ends the request to the provider', async t => {
  const reached = new AbortController()
  const ended = new AbortController()
  const { open, connect } = await startWithThirdParties(t, {
    github: {
      ...github,
      async api ({ signal }) {
        reached.abort()
        await once(signal, 'abort')
        ended.abort()
        throw signal.reason
      }
    },
    gitlab
  })
  const { client } = await open(registerCopyIssues)
  for (const { url } of await client.callTool(copy).catch(error => error.elicitations)) await connect(url)
  const cancel = new AbortController()
  const atProvider = once(reached.signal, 'abort')
  const gone = once(ended.signal, 'abort')
  const call = client.callTool(copy, undefined, { signal: cancel.signal })
  await atProvider
  cancel.abort('the user has changed their mind')
  await t.rejects(call)
  await gone
})
