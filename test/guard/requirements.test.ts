import t from 'tap'
import { parseRequirements } from '../../lib/guard/requirements.js'
import { defineProvider } from '../../lib/index.js'

t.test('a provider whose key is a name that every object knows is one like others', async t => {
  const provider = defineProvider({ name: 'Acme', issuer: 'https://acme.example', clientId: 'id', scopes: ['a'], apiOrigins: ['https://api.acme.example'] })
  for (const key of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
    const providers = new Map([[key, provider]])
    t.match(parseRequirements(providers, [[key], () => {}]).requirements, [{ key, scopes: ['a'] }], key)
    t.match(parseRequirements(providers, [key, { scopes: ['b'] }, () => {}]).requirements, [{ key, scopes: ['a', 'b'] }], key)
    t.throws(() => parseRequirements(new Map(), [key, () => {}]), { code: 'FST_MCP_CONNECT_UNKNOWN_PROVIDER' }, key)
  }
})
