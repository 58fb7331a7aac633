import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createUndecidedGrants, DECISION_TTL_MS, type UndecidedGrant } from '../../lib/elicitation/undecided-grants.js'
import { memoryStore } from '../../lib/index.js'
import { createKeyRing } from '../../lib/vault/key-ring.js'
import { createSealer } from '../../lib/vault/sealer.js'
import { advance } from '../fixtures/clock.js'

const sealer = createSealer(createKeyRing([randomBytes(32)]))
const undecided = (attempt: string): UndecidedGrant => ({
  grant: { accessToken: 'canary', scopes: [], requestedScopes: [] },
  replaces: 'id',
  flow: { provider: 'acme', issuer: 'https://acme.example', clientId: 'id', scopes: [], generation: 0 },
  attempt
})

t.test('a grant waits sealed, the last one of its link, until one of all that ask takes it, or for a while', async t => {
  const { state } = memoryStore()
  const values: string[] = []
  const grants = createUndecidedGrants({ state: { ...state, put: async (...args) => { values.push(args[1]); return await state.put(...args) } }, sealer })
  t.equal(await grants.find('a'), null)
  for (const attempt of ['first', 'second']) await grants.keep('a', undecided(attempt))
  t.notMatch(values.join(), 'canary')
  t.strictSame(await grants.find('a'), undecided('second'))
  t.equal(await grants.find('b'), null)
  const taken = await Promise.all([grants.take('a'), grants.take('a')])
  t.strictSame(taken.filter(one => one !== null), [undecided('second')])
  t.equal(await grants.find('a'), null)

  await grants.keep('a', undecided('third'))
  advance(t, DECISION_TTL_MS - 1000)
  t.not(await grants.find('a'), null)
  advance(t, 2000)
  t.equal(await grants.find('a'), null)
})
