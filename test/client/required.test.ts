import t from 'tap'
import { requiredBy } from '../../lib/client/required.js'
import { elicitation } from '../fixtures/asking-server.js'

t.test('of a list without end, no more is read than can be asked for', t => {
  let read = 0
  const elicitations = Array.from({ length: 50_000 }, (_, index) => ({ ...elicitation(String(index)), get mode () { read += 1; return 'url' } }))
  t.equal(requiredBy(Object.assign(new Error('x'), { code: -32042, data: { elicitations } }))?.length, 10)
  t.ok(read < 100, `${read} were read`)
  t.end()
})
