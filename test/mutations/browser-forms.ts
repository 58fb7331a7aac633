/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const FORMS = ['test/browser/forms.test.ts']
const PAGES = ['test/browser/pages.test.ts']
const LOGIN = ['test/browser/login.test.ts']
const STATE = ['test/browser/state.test.ts']
const BINDING_COOKIES = ['test/browser/binding-cookies.test.ts']

/** Forms and cookies. */
export const forms = [
  ...mutationsOf('lib/browser/forms.ts', FORMS,
    { name: 'the token of a form is not checked', find: 'if (!genuine || !await', replace: 'if (!await' },
    { name: 'a form comes from any browser', find: '!genuine || !await cookies.has(request, principal, browser)', replace: '!genuine' },
    { name: 'the form that another browser was shown is taken', find: 'encodeFields([connections, expiresAt, browser, ', replace: 'encodeFields([connections, expiresAt, ' },
    { name: 'a form may hold more than its token', find: 'z.strictObject({ csrf', replace: 'z.object({ csrf' },
    { name: 'a form comes from any origin', find: 'from !== undefined && from !== origin', replace: 'from === ""' },
    { name: 'a form comes from any origin that begins like ours', find: 'from !== undefined && from !== origin', replace: 'from !== undefined && !from.startsWith(origin)' },
    { name: 'a form comes from a page without an origin', find: 'from !== undefined && from !== origin', replace: "from !== undefined && from !== 'null' && from !== origin" },
    { name: 'browsers that send no origin cannot send a form', find: 'from !== undefined && from !== origin', replace: 'from !== origin' },
    { name: 'a form comes from any site', find: "site !== undefined && site !== 'same-origin'", replace: 'site === ""' },
    { name: 'a form comes from a sibling domain', find: "site !== undefined && site !== 'same-origin'", replace: "site !== undefined && site !== 'same-origin' && site !== 'same-site'" },
    { name: 'a form comes from no site', find: "site !== undefined && site !== 'same-origin'", replace: "site !== undefined && site !== 'same-origin' && site !== 'none'" },
    { name: 'browsers that do not say from which site cannot send a form', find: "site !== undefined && site !== 'same-origin'", replace: "site !== 'same-origin'" },
    { name: 'a form is good for ever', find: 'Number(expiresAt) > Date.now() &&', replace: 'Number(expiresAt) > 0 &&' },
    { name: 'whoever sends a form says how long it is good', find: 'encodeFields([connections, expiresAt, browser', replace: 'encodeFields([connections, browser' },
    { name: 'the form of another instance of the plugin is taken', find: 'encodeFields([connections, expiresAt', replace: 'encodeFields([expiresAt' },
    // Two layers: the user stands in what is signed, and in the cookie that it is bound to.
    {
      name: "another user's form is taken",
      find: '...principalFields(principal), ',
      replace: '',
      also: [{ file: 'lib/browser/form-cookies.ts', find: 'data?.owner === hashPrincipal(principal)', replace: 'data != null' }]
    },
    { name: 'the form of another action is taken', find: ', ...action])', replace: '])' },
    { name: 'forms do not outlive a new key', find: 'secrets.some(secret', replace: 'secrets.slice(0, 1).some(secret' },
    { name: 'a token of another length is a fault', find: 'a.length === b.length && ', replace: '', tests: ['test/browser/fuzzed.test.ts'] },
    { name: 'what stands behind a token is ignored', find: 'isSame(csrf, ', replace: "isSame(csrf.split('.').slice(0, 3).join('.'), ", tests: ['test/browser/fuzzed.test.ts'] }
  ),
  ...mutationsOf('lib/browser/form-cookies.ts', FORMS,
    { name: 'the cookie of another page will do', find: 'principal) === id', replace: 'principal) !== undefined' },
    { name: 'the cookie names the user', find: 'owner: hashPrincipal(principal), id })', replace: 'owner: hashPrincipal(principal), id }) + `;${principal.subject}`', tests: PAGES },
    { name: 'the id of the cookie can be guessed', find: 'const id = randomToken()', replace: 'const id = hashPrincipal(principal)' },
    { name: 'a second page makes the forms of the first one void', find: 'if (known !== undefined) return known', replace: 'if (known !== undefined) bindingCookies.clearAll(request, reply)' },
    { name: 'each page has a cookie of its own', find: 'if (known !== undefined) return known', replace: '' },
    { name: 'forms are good after signing out', find: 'clear: bindingCookies.clearAll', replace: 'clear: () => {}', tests: LOGIN },
    { name: 'instances of the plugin share their form cookies', find: '`${cookies.beginning} form`', replace: "'form'", tests: PAGES }
  ),
  ...mutationsOf('lib/browser/cookies.ts', PAGES,
    { name: 'cookies have no __Host- prefix', find: "secure ? '__Host-' : ''", replace: "secure ? '' : ''" },
    { name: 'cookies on loopback without TLS have a prefix that browsers drop', find: "secure ? '__Host-' : ''", replace: "'__Host-'" },
    { name: 'a cookie that is there twice is read', find: 'if (found.length > 1) throw new CookieInvalidError()', replace: '' },
    { name: 'cookies are for one path', find: "path: '/', ", replace: '' },
    { name: 'cookies are sent without TLS', find: 'secure, httpOnly', replace: 'httpOnly' },
    { name: 'scripts can read cookies', find: 'httpOnly: true', replace: 'httpOnly: false' },
    { name: 'cookies come with requests of other sites', find: "sameSite: 'lax'", replace: "sameSite: 'none'" },
    { name: 'cookies do not come back from the provider', find: "sameSite: 'lax'", replace: "sameSite: 'strict'" },
    { name: 'cookies have no end', find: '...maxAgeSeconds !== undefined && { maxAge: maxAgeSeconds }', replace: '' },
    { name: 'a name that browsers do not guard becomes one that they do', find: '[strip(name), strip(', replace: '[name.trim(), strip(', tests: LOGIN },
    { name: 'blanks are a part of a name', find: "return character === ' ' || character === '\\t'", replace: "return character === '\\t'", tests: LOGIN },
    { name: 'tabs are a part of a name', find: "return character === ' ' || character === '\\t'", replace: "return character === ' '", tests: LOGIN },
    { name: 'cookies of others are taken for ours', find: 'key.startsWith(prefix + beginning)', replace: "key.includes('')", tests: BINDING_COOKIES }
  ),
  ...mutationsOf('lib/browser/binding-cookies.ts', STATE,
    { name: 'attempts of one browser share their cookie', find: 'prefix + hashFields(`${kind} cookie name`, key).slice(0, 16)', replace: "prefix + '0'.repeat(16)" },
    { name: 'the name of a cookie tells the state', find: 'prefix + hashFields(`${kind} cookie name`, key).slice(0, 16)', replace: 'prefix + key.slice(0, 16)', tests: ['test/browser/pages.test.ts'] },
    { name: 'cookies are kept without end', find: "cookies.write(reply, name, '', 0)\n      cookies.write(reply, nameOf", replace: 'void name\n      cookies.write(reply, nameOf' },
    { name: 'the latest cookies are the first to go', find: 'old.slice(0, Math.max(0, old.length - MAX_COOKIES + 1))', replace: 'old.slice(MAX_COOKIES - 1)', tests: BINDING_COOKIES },
    { name: 'cookies that are not ours are written', find: '/^[0-9a-f]{16}$/.test(', replace: '/^/.test(', tests: PAGES },
    { name: 'a cookie outlives its attempt', find: 'value, lifetimeMs / 1000)', replace: 'value)', tests: PAGES },
    { name: 'not all cookies are taken back', find: 'for (const name of namesIn(request)) cookies.write', replace: 'for (const name of namesIn(request).slice(1)) cookies.write', tests: BINDING_COOKIES },
    { name: 'a cookie is not taken back', find: "clear: (reply, key) => cookies.write(reply, nameOf(key), '', 0)", replace: 'clear: () => {}', tests: PAGES },
    { name: 'cookies of one kind push out those of another', find: 'const prefix = `${kind}-`', replace: "const prefix = 'kind-'", tests: BINDING_COOKIES }
  ),
  ...mutationsOf('lib/browser/seals.ts', ['test/browser/seals.test.ts'],
    { name: 'a seal of another purpose is opened', find: 'purpose: z.literal(purpose)', replace: 'purpose: z.any()' },
    { name: 'purposes share their passwords', find: 'ring.derive(`${purpose} cookie`)', replace: "ring.derive('a cookie')", tests: ['test/browser/pages.test.ts'] },
    { name: 'a seal has no end of its own', find: ' && result.data.expiresAt > Date.now()', replace: '' },
    // Two layers: what is no number is not later than now either.
    {
      name: 'a seal may be without an end',
      find: 'expiresAt: z.number()',
      replace: 'expiresAt: z.number().optional()',
      also: [{ find: 'result.data.expiresAt > Date.now()', replace: '!(result.data.expiresAt <= Date.now())' }]
    },
    { name: 'a seal may hold anything', find: 'data: schema', replace: 'data: z.any()' },
    { name: 'a seal ends with the key that made it', find: 'for (const password of passwords) {', replace: 'for (const password of passwords.slice(0, 1)) {' },
    { name: 'an older key seals', find: 'password: passwords[0]!', replace: 'password: passwords.at(-1)!' },
    { name: 'a broken seal is a fault', find: '.catch(() => ({}))', replace: '', tests: PAGES },
    { name: 'a seal lives for longer than it may', find: 'expiresAt: Date.now() + lifetimeMs', replace: 'expiresAt: Date.now() + 10 * lifetimeMs' }
  )
]
