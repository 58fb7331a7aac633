import t from 'tap'
import { registerIssues } from '../../examples/prompts-and-resources.js'
import { startWithThirdParties } from '../fixtures/third-parties.js'

t.test('a prompt, a resource and a resource template ask for the connection, and run with it', async t => {
  const asked: string[] = []
  const { open, connect } = await startWithThirdParties(t, {
    github: {
      name: 'GitHub',
      scope: 'repo',
      apiOrigin: 'https://api.github.com',
      api ({ url }) {
        asked.push(url.slice('https://api.github.com'.length))
        return Response.json({ title: 'The tea is cold' })
      }
    }
  })
  const { client, wire } = await open(registerIssues)
  const calls = {
    prompt: () => client.getPrompt({ name: 'triage', arguments: { label: 'tea & cake' } }),
    resource: () => client.readResource({ uri: 'github://issues' }),
    template: () => client.readResource({ uri: 'github://issues/wonderland/tea-party/7' })
  }
  let url = ''
  for (const [kind, call] of Object.entries(calls)) {
    const error = await call().then(() => undefined, error => error)
    t.match(error, { code: -32042, elicitations: [{ message: 'Connect GitHub to read your issues.' }] }, kind)
    t.match(wire.at(-1), { error: { code: -32042 } }, kind)
    url = error.elicitations[0].url
  }
  t.strictSame(asked, [], 'no handler has run')
  await connect(url)

  const text = '{"title":"The tea is cold"}'
  t.match(await calls.prompt(), { messages: [{ role: 'user', content: { text: `Which of these is the most urgent?\n${text}` } }] })
  t.match(await calls.resource(), { contents: [{ uri: 'github://issues', text }] })
  t.match(await calls.template(), { contents: [{ uri: 'github://issues/wonderland/tea-party/7', text }] })
  t.strictSame(asked, ['/issues?labels=tea+%26+cake', '/issues', '/repos/wonderland/tea-party/issues/7'])

  asked.length = 0
  for (const path of ['../tea-party/7', '%2e%2e/%2e%2e/7', '%252e%252e/tea-party/7', 'a%2f..%2f..%2fuser/tea-party/7', 'a%3f/b/7', '../../user']) {
    await client.readResource({ uri: `github://issues/${path}` }).catch(() => {})
  }
  t.ok(asked.length > 0)
  for (const path of asked) t.match(path, /^\/repos\/[^/?#]+\/[^/?#]+\/issues\/[^/?#]+$/, 'no variable leads elsewhere')
})
