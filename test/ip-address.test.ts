import t from 'tap'
import { mayConnect, mayRequest } from '../lib/ip-address.js'
import { defineProvider } from '../lib/index.js'

const SPECIAL = ['0.0.0.0', '255.255.255.255', '224.0.0.1', '240.0.0.1', '169.254.169.254', '192.0.0.1', '192.0.2.1', '198.18.0.1', '192.88.99.1',
  '::', '::7f00:1', '::a9fe:a9fe', '::ffff:127.0.0.1', '::ffff:8.8.8.8', 'fe80::1', 'fec0::1', 'ff02::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '100::1', '4000::1', '5f00::1', 'no address', '']
const PRIVATE = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', 'fc00::1', 'fd12::1', '64:ff9b::a00:1', '64:ff9b::808:808', '64:ff9b:1::1']
const LOOPBACK = ['127.0.0.1', '127.255.255.254', '::1']
const PUBLIC = ['8.8.8.8', '172.32.0.1', '2606:4700::1111', '2a00:1450::1']

t.test('OAR-28 what is not public is connected to by nobody, unless it is meant to be', async t => {
  const strict = { privateHosts: ['login.corp.example'], loopback: false }
  for (const [host, allowed] of [['acme.example', PUBLIC], ['login.corp.example', [...PUBLIC, ...PRIVATE, ...LOOPBACK]]] as const) {
    for (const address of [...SPECIAL, ...PRIVATE, ...LOOPBACK, ...PUBLIC]) t.equal(mayConnect(host, address, strict), allowed.includes(address), `${host} at ${address}`)
  }
  for (const address of [...SPECIAL, ...PRIVATE, ...LOOPBACK, ...PUBLIC]) {
    t.equal(mayConnect('acme.example', address, { privateHosts: [], loopback: true }), [...LOOPBACK, ...PUBLIC].includes(address), `for development at ${address}`)
  }
})

t.test('OAR-28 an address in a URL is read however it is spelled, and refused at start-up', async t => {
  for (const [host, address] of [
    ['127.1', '127.0.0.1'], ['0x7f000001', '127.0.0.1'], ['2130706433', '127.0.0.1'], ['017700000001', '127.0.0.1'], ['127.0.0.1.', '127.0.0.1'],
    ['[::1]', '::1'], ['[::ffff:a9fe:a9fe]', '::ffff:a9fe:a9fe'], ['[::ffff:169.254.169.254]', '::ffff:a9fe:a9fe'], ['169.254.169.254', '169.254.169.254'], ['10.1', '10.0.0.1'], ['[fc00::1]', 'fc00::1']
  ] as const) {
    const url = new URL(`https://${host}/`)
    t.notOk(mayRequest(url, { privateHosts: [], loopback: false }), host)
    t.equal(mayRequest(url, { privateHosts: [url.hostname], loopback: false }), !['::ffff:a9fe:a9fe', '169.254.169.254'].includes(address), address)
    const definition = { name: 'Acme', issuer: 'https://acme.example', clientId: 'id', apiOrigins: ['https://api.acme.example'] }
    const refused = { code: 'FST_MCP_CONNECT_OPTIONS', message: /leads to an address that is not public.*privateHosts/s }
    t.throws(() => defineProvider({ ...definition, issuer: `https://${host}` }), refused)
    t.throws(() => defineProvider({ ...definition, endpoints: { authorization: 'https://acme.example/a', token: `https://${host}/token` } }), refused)
  }
  t.ok(mayRequest(new URL('https://acme.example/'), { privateHosts: [], loopback: false }), 'a name is looked up first')
})

t.test('privateHosts are hosts, as URLs have them', async t => {
  const definition = { name: 'Acme', issuer: 'https://10.0.0.7', clientId: 'id', apiOrigins: ['https://api.acme.example'] }
  t.strictSame(defineProvider({ ...definition, privateHosts: ['10.0.0.7', 'login.corp.example', '[fc00::1]'] }).privateHosts, ['10.0.0.7', 'login.corp.example', '[fc00::1]'])
  for (const host of ['https://login.corp.example', 'login.corp.example:443', '*.corp.example', 'Login.corp.example', 'login.corp.example/', 'a b', '', 'user@corp.example', 7]) {
    t.throws(() => defineProvider({ ...definition, privateHosts: [host as string] }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /privateHosts/ }, String(host))
  }
})
