import t from 'tap'
import { allowLoopbackHttp, type McpEndpointOptions } from '../../lib/endpoint/index.js'
import { resolveEndpointOptions } from '../../lib/endpoint/options.js'

const good = { createServer: () => { throw new Error('not called') }, auth: { issuer: 'https://login.example.com', resource: 'https://mcp.example.com/mcp' } }

t.test('defaults are filled in, and the result is frozen', async t => {
  const settings = resolveEndpointOptions(good)
  const { createServer, auth, ...rest } = settings
  t.strictSame(rest, { path: '/mcp', allowedHosts: [], allowedOrigins: [], sessionIdleMs: 1_800_000, maxSessions: 10_000, jsonResponse: false })
  t.match(auth, { ...good.auth, scopes: [], privateHosts: [], [allowLoopbackHttp]: false })
  t.ok(Object.isFrozen(settings))
})

t.test('good options in their longest form', async t => {
  const options = {
    path: '/tenant-1/mcp',
    createServer: good.createServer,
    auth: { ...good.auth, resource: 'http://localhost:3000/mcp', scopes: ['mcp:tools', 'a'], jwksUri: 'http://127.0.0.1:4000/jwks', privateHosts: ['login.corp.example'], [allowLoopbackHttp]: true },
    allowedHosts: ['localhost:3000', 'internal.example.com', '[::1]:3000'],
    allowedOrigins: ['https://app.example.com', 'http://localhost:6274'],
    sessionIdleMs: 1000,
    maxSessions: 1,
    jsonResponse: true
  }
  t.strictSame(resolveEndpointOptions(options), options)
})

t.test('what is wrong is refused, with its path and the mend', async t => {
  const auth = (change: object): object => ({ auth: { ...good.auth, ...change } })
  const wrong: ReadonlyArray<readonly [object, RegExp]> = [
    [{ other: 1 }, /unknown: other; known are: path, createServer, auth/],
    [{ prefix: '/v1' }, /unknown: prefix/],
    [{ path: 'mcp' }, /must be a path such as \/mcp.*at path/s],
    [{ path: '/mcp/' }, /at path/],
    [{ path: '/:tenant/mcp' }, /at path/],
    [{ createServer: {} }, /must be a function that makes an McpServer.*at createServer/s],
    [{ auth: undefined }, /must be an object of: issuer, resource, scopes, jwksUri, privateHosts.*at auth/s],
    [auth({ audience: 'x' }), /unknown: audience.*at auth/s],
    [auth({ issuer: 'http://login.example.com' }), /must be an absolute https: URL.*at auth\.issuer/s],
    [auth({ issuer: 'http://localhost:4000' }), /allowLoopbackHttp/],
    [auth({ issuer: 'https://login.example.com/.well-known/openid-configuration' }), /must be the issuer itself/],
    [auth({ issuer: 'https://10.0.0.1' }), /not public/],
    [auth({ resource: 'mcp.example.com' }), /must be the public URL of the endpoint.*at auth\.resource/s],
    [auth({ resource: 'http://mcp.example.com/mcp' }), /at auth\.resource/],
    [auth({ resource: 'https://mcp.example.com/mcp?a=b' }), /at auth\.resource/],
    [auth({ resource: 'https://mcp.example.com/mcp#' }), /at auth\.resource/],
    [auth({ resource: 'https://user@mcp.example.com/mcp' }), /at auth\.resource/],
    [auth({ issuer: 'http://localhost:4000', allowLoopbackHttp: true }), /unknown: allowLoopbackHttp; .*is a symbol to import.*\[allowLoopbackHttp\]: true/s],
    [auth({ scopes: 'mcp:tools' }), /must be a list of scopes, such as \['issues:read'\].*at auth\.scopes/s],
    [auth({ scopes: ['mcp:tools more'] }), /must be one scope.*at auth\.scopes/s],
    [auth({ jwksUri: 'http://login.example.com/jwks' }), /at auth\.jwksUri/],
    [auth({ jwksUri: 'https://169.254.169.254/jwks' }), /not public.*at auth\.jwksUri/s],
    [auth({ privateHosts: ['https://login.corp.example'] }), /at auth\.privateHosts/],
    [{ allowedHosts: 'mcp.example.com' }, /must be a list of hosts.*at allowedHosts/s],
    ...['https://mcp.example.com', '*.example.com', 'Example.com', 'a/b', 'a@b', ''].map(host => [{ allowedHosts: [host] }, /must be a host as in Host.*at allowedHosts/s] as const),
    ...['app.example.com', 'https://app.example.com/', 'https://*.example.com', '*', 'null'].map(origin => [{ allowedOrigins: [origin] }, /must be an origin.*at allowedOrigins/s] as const),
    [{ sessionIdleMs: 999 }, /must be milliseconds, from 1000 to 86400000 \(a day\).*at sessionIdleMs/s],
    [{ sessionIdleMs: 86_400_001 }, /at sessionIdleMs/],
    [{ maxSessions: 0 }, /from 1 to 1000000.*at maxSessions/s],
    [{ maxSessions: Infinity }, /at maxSessions/],
    [{ jsonResponse: 'yes' }, /must be true or false.*at jsonResponse/s]
  ]
  for (const [change, message] of wrong) {
    t.throws(() => resolveEndpointOptions({ ...good, ...change } as unknown as McpEndpointOptions), { code: 'FST_MCP_CONNECT_OPTIONS', message }, JSON.stringify(change))
  }
  t.throws(() => resolveEndpointOptions(undefined as unknown as McpEndpointOptions), { code: 'FST_MCP_CONNECT_OPTIONS', message: /mcpEndpoint: .*must be an object of: path/s })
})

t.test('offline_access is refused: it stands neither in a challenge nor in the metadata', async t => {
  t.throws(() => resolveEndpointOptions({ ...good, auth: { ...good.auth, scopes: ['mcp:tools', 'offline_access'] } }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /offline_access.*at auth\.scopes/s })
})
