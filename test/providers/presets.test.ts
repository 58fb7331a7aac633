import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import * as lib from '../../lib/index.js'
import { defineProvider } from '../../lib/providers/define-provider.js'
import { createConfigurations } from '../../lib/oauth/configuration.js'
import { createAuthorizationRequest } from '../../lib/oauth/authorization-request.js'
import { PRESET_QUIRKS } from '../../lib/testing/fake-presets.js'
import type { Provider } from '../../lib/types.js'
import { plainClient, REDIRECT_URI, valueAt } from '../fixtures/plain-client.js'
import { fakePreset, PRESET_NAMES, PRESETS, REGISTRATION, TENANT, type PresetName } from '../fixtures/presets.js'

const make = (name: PresetName, change: object): Provider => (lib[name] as (registration: object) => Provider)({ ...REGISTRATION, ...name === 'microsoft' && { tenant: TENANT }, ...change })
const OWN_FILES = ['define-provider.ts', 'preset.ts', 'tenant-registrations.ts']
const providers = new URL('../../lib/providers/', import.meta.url)
const files = readdirSync(providers).filter(file => !OWN_FILES.includes(file))
const HAS_NO_SCOPES: readonly string[] = ['notion']

t.test('every file is a preset, is exported, and has a fake', async t => {
  t.strictSame(files.map(file => file.replace('.ts', '')), PRESET_NAMES)
  t.strictSame(Object.keys(PRESET_QUIRKS).sort(), Object.values(PRESETS).map(({ name }) => name).sort())
})

t.test('every preset says where its redirect URI is registered, and where its facts are from', async t => {
  for (const file of files) {
    const text = readFileSync(new URL(file, providers), 'utf8').replace(/\n \* ?/g, ' ')
    t.match(text, '`<baseUrl>/connect/callback/<key of the provider>`', file)
    t.match(text, / Sources: \S/, file)
  }
})

t.test('what is wrong or missing is refused, with its path', async t => {
  for (const name of PRESET_NAMES) {
    for (const [change, mend] of [
      [{ clientId: undefined }, /environment variable[^]*→ at clientId/],
      [{ clientId: '' }, /environment variable[^]*→ at clientId/],
      [{ clientSecret: undefined }, /environment variable[^]*→ at clientSecret/],
      [{ clientSecret: '' }, /→ at clientSecret/],
      [{ apiOrigins: [] }, new RegExp(`^(.*: )?${name}: unknown: apiOrigins; known are: clientId, clientSecret`)],
      [{ clientID: 'x' }, /unknown: clientID; known are: clientId/],
      ...HAS_NO_SCOPES.includes(name)
        ? [[{ scopes: [] }, /unknown: scopes; known are: clientId, clientSecret$/] as const]
        : [[{ scopes: 'read' }, /must be a list of scopes[^]*→ at scopes/] as const, [{ scopes: ['read write'] }, /one scope[^]*→ at scopes\[\d\]/] as const, [{ scopes: null }, /→ at scopes/] as const]
    ] as const) {
      t.throws(() => make(name, change), { code: 'FST_MCP_CONNECT_OPTIONS', message: mend }, `${name} ${JSON.stringify(change)}`)
    }
    for (const registration of [undefined, null, 'client']) {
      t.throws(() => (lib[name] as (registration: unknown) => Provider)(registration), { code: 'FST_MCP_CONNECT_OPTIONS', message: `${name}: must be an object of: clientId, clientSecret` }, name)
    }
  }
})

t.test('microsoft: the tenant is a GUID, which its issuer names', async t => {
  for (const tenant of [undefined, 'common', 'organizations', 'contoso.onmicrosoft.com', TENANT.replace('1', 'G'), `${TENANT}/x`, [TENANT]]) {
    t.throws(() => make('microsoft', { tenant }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /microsoft: .*GUID.* → at tenant/ })
  }
  t.equal(PRESETS.microsoft.issuer, `https://login.microsoftonline.com/${TENANT}/v2.0`)
})

t.test('gitlab: one of your own', async t => {
  t.match(make('gitlab', { origin: 'https://gitlab.example.com:8443' }), {
    issuer: 'https://gitlab.example.com:8443',
    endpoints: { token: 'https://gitlab.example.com:8443/oauth/token' },
    identity: { url: 'https://gitlab.example.com:8443/api/v4/user' },
    apiOrigins: ['https://gitlab.example.com:8443']
  })
  for (const origin of ['gitlab.example.com', 'https://gitlab.example.com/', 'https://gitlab.example.com/gitlab', '', null, 1]) {
    t.throws(() => make('gitlab', { origin }), { code: 'FST_MCP_CONNECT_OPTIONS', message: /gitlab: must be an origin.* → at origin/ })
  }
  t.throws(() => make('gitlab', { origin: 'http://gitlab.example.com' }), { message: /https/ })
})

t.test('what a preset gives is checked, frozen and complete', async t => {
  for (const name of PRESET_NAMES) {
    const { revocationRequest, ...data } = PRESETS[name] as Provider
    t.ok(Object.isFrozen(PRESETS[name]), name)
    t.strictSame(defineProvider(data), data, name)
    t.ok(data.apiOrigins.every(origin => origin.startsWith('https://')), name)
  }
})

const FIRST = { access_type: 'offline', prompt: 'consent', include_granted_scopes: 'true' }
/** Where each sends the browser, and with which parameters beside those that all have. */
const REQUESTS: Readonly<Record<PresetName, readonly [url: string, parameters: Readonly<Record<string, string>>]>> = {
  airtable: ['https://airtable.com/oauth2/v1/authorize', { scope: 'data.records:read user.email:read' }],
  atlassian: ['https://auth.atlassian.com/authorize', { scope: 'offline_access read:jira-work read:me', audience: 'api.atlassian.com', prompt: 'consent' }],
  box: ['https://account.box.com/api/oauth2/authorize', { scope: 'root_readonly' }],
  discord: ['https://discord.com/oauth2/authorize', { scope: 'identify guilds' }],
  dropbox: ['https://www.dropbox.com/oauth2/authorize', { scope: 'account_info.read files.content.read', token_access_type: 'offline' }],
  figma: ['https://www.figma.com/oauth', { scope: 'current_user:read file_content:read' }],
  github: ['https://github.com/login/oauth/authorize', { scope: 'repo read:org' }],
  gitlab: ['https://gitlab.com/oauth/authorize', { scope: 'read_api read_repository' }],
  google: ['https://accounts.google.com/o/oauth2/v2/auth', { scope: 'openid email https://www.googleapis.com/auth/drive.readonly', ...FIRST }],
  hubspot: ['https://app.hubspot.com/oauth/authorize', { scope: 'oauth crm.objects.contacts.read' }],
  linear: ['https://linear.app/oauth/authorize', { scope: 'read,issues:create' }],
  microsoft: [`https://login.microsoftonline.com/${TENANT}/oauth2/v2.0/authorize`, { scope: 'openid profile email offline_access Mail.Read' }],
  notion: ['https://api.notion.com/v1/oauth/authorize', { owner: 'user' }],
  slack: ['https://slack.com/oauth/v2/authorize', { user_scope: 'search:read,chat:write' }],
  spotify: ['https://accounts.spotify.com/authorize', { scope: 'user-read-private playlist-read-private' }],
  zoom: ['https://zoom.us/oauth/authorize', { scope: 'user:read:user meeting:read:meeting' }]
}

const ALWAYS = ['client_id', 'code_challenge', 'code_challenge_method', 'nonce', 'redirect_uri', 'response_type', 'state']

t.test('the authorization request that each makes', async t => {
  for (const name of PRESET_NAMES) {
    const provider: Provider = PRESETS[name]
    const [address, parameters] = REQUESTS[name]
    if (provider.endpoints === undefined) {
      t.equal(name, 'google', 'one alone is found by its metadata')
      continue
    }
    t.equal(provider.endpoints.authorization, address)
    const { url } = await createAuthorizationRequest(await createConfigurations()(provider), provider, { redirectUri: REDIRECT_URI, scopes: provider.scopes, state: 'state' })
    t.equal(url.origin + url.pathname, address, name)
    t.strictSame(Object.fromEntries([...url.searchParams].filter(([parameter]) => !ALWAYS.includes(parameter))), parameters, name)
    t.equal(url.searchParams.get('code_challenge_method'), 'S256', name)
  }
})

t.test('the scopes and parameters that its data say, and addresses with https alone', async t => {
  for (const name of PRESET_NAMES) {
    const provider: Provider = PRESETS[name]
    const [, parameters] = REQUESTS[name]
    const { [provider.scopeParameter]: scope, ...others } = parameters
    t.strictSame({ ...provider.authorizationParameters }, others, name)
    t.equal(provider.scopes.join(provider.requestScopeSeparator), scope ?? '', name)
    const urls = [...Object.values(provider.endpoints ?? {}), provider.identity?.url, provider.revocationRequest?.({ accessToken: 'a', refreshToken: 'r' }, provider).url]
    for (const url of urls) if (url !== undefined) t.equal(new URL(url).protocol, 'https:', `${name} ${url}`)
  }
})

t.test('with its fake, each does what it must, by its data alone', async t => {
  for (const name of PRESET_NAMES) {
    await t.test(name, async t => {
      const { fake, provider } = await fakePreset(t, name)
      t.strictSame(provider.apiOrigins, [fake.issuer])
      t.strictSame({ ...defineProvider(provider), revocationRequest: 0 }, { ...provider, revocationRequest: 0 }, 'it is a definition')
      const client = plainClient(fake, provider)
      const { status, body, tokens } = await client.connect()
      t.equal(status, 200)
      t.match(tokens, { access_token: /^[\w-]{43}$/ }, `tokens: ${JSON.stringify(fake.requests.at(-1))}`)
      t.equal((await client.api(tokens['access_token'])).status, 200)

      const { url, subject = 'sub' } = provider.identity ?? {}
      const identity = provider.identity !== undefined && url === undefined ? body : (await client.identity(tokens['access_token'])).body
      t.equal(valueAt(identity, subject), fake.account.subject, 'the account')

      let last = tokens
      if (tokens['refresh_token'] !== undefined) {
        const refreshed = await client.refresh(tokens['refresh_token'])
        t.equal(refreshed.status, 200)
        t.not(refreshed.tokens['access_token'], tokens['access_token'])
        last = { ...tokens, ...refreshed.tokens }
      }
      t.equal((await client.api(last['access_token'])).status, 200)

      const revocable = provider.revocationRequest !== undefined || provider.endpoints?.revocation !== undefined || provider.endpoints === undefined
      if (revocable) {
        t.equal(await client.revoke(last), 200)
        t.equal(fake.counts.revocations, 1)
        t.equal((await client.api(last['access_token'])).status, 401)
      }
      t.match(fake.counts, { authorizations: 1, exchanges: 1, refreshes: tokens['refresh_token'] === undefined ? 0 : 1, reuses: 0 })
    })
  }
})
