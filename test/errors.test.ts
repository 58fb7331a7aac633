import t from 'tap'
import * as errors from '../lib/errors.js'
import { endingOf } from '../lib/browser/pages/ending.js'

t.test('codes begin alike and are of one error each', async t => {
  const codes = Object.values(errors).filter(value => typeof value === 'function' && value !== errors.shortCode && value !== errors.NotRunError)
    .map(Class => (new (Class as new (...args: string[]) => { code: string })('', '')).code)
  for (const code of codes) t.match(code, /^FST_MCP_CONNECT_[A-Z0-9_]+$/)
  t.equal(new Set(codes).size, codes.length)
})

t.test('every error of a person\'s request has a page of its own', async t => {
  for (const Class of Object.values(errors)) {
    if (typeof Class !== 'function' || Class === errors.shortCode || Class === errors.NotRunError) continue
    const error = new (Class as new (...args: string[]) => { code: string, statusCode: number })('', '')
    if (error.statusCode >= 500 && error.statusCode !== 502) continue
    t.not(endingOf(errors.shortCode(error.code), 400), endingOf('', 400), error.code)
  }
})
