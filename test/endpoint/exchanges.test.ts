import { createServer } from 'node:http'
import t from 'tap'
import { listenOnLoopback } from '../../examples/demo/ports.js'
import { createExchanges } from '../../lib/endpoint/exchanges.js'

t.test('whoever ends what is being answered hears when it is over, also beside others', async t => {
  const exchanges = createExchanges()
  let come = (): void => {}
  const came = new Promise<void>(resolve => { come = resolve })
  const server = createServer((_request, response) => {
    exchanges.add(response)
    come()
  })
  const port = await listenOnLoopback(server, 0)
  t.teardown(() => server.close())
  const answer = fetch(`http://127.0.0.1:${port}/`).catch(() => 'cut off')
  await came
  await Promise.all([exchanges.end(), exchanges.end(), exchanges.end()])
  t.equal(exchanges.size, 0)
  t.equal(await answer, 'cut off')
})
