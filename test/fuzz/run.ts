/*
 * Tries every route and every parser of what strangers send, for as long as it is told. Exits with 1 when something does not hold.
 *
 *   npm run test:fuzz -- --seconds 60 --seed 1 --only cookies
 */
import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.js'
import { parserTargets } from './parsers.js'
import { routes } from './routes.js'

const few = { max: 10, windowMs: 1000 }

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string' }, only: { type: 'string', default: '' } } })
const targets = [
  ...parserTargets(),
  routes('routes, own login', { login: 'own' }),
  routes('routes, oidcLogin', { login: 'oidcLogin' }),
  routes('routes, own login, limits', { login: 'own', limits: { address: few, principal: few, elicitations: few } })
].filter(({ name }) => name.includes(values.only))
if (targets.length === 0) throw new Error(`There is no target with ${values.only} in its name`)
const sound = await fuzz(targets, { seconds: Number(values.seconds), seed: Number(values.seed ?? Date.now() % 1_000_000_000), tell: line => console.log(line) })
console.log(`fuzz: ${sound ? 'ok' : 'failed'}`)
process.exitCode = sound ? 0 : 1
