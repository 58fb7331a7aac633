import t from 'tap'
import { checkUrl } from '../../lib/client/url.js'

const refusal = (url: string, loopback = false): string | undefined => {
  const checked = checkUrl(url, loopback)
  return checked.ok ? undefined : checked.refusal
}

function seen (url: string, loopback = false) {
  const checked = checkUrl(url, loopback)
  if (!checked.ok) throw new Error(`${url}: ${checked.refusal}`)
  return checked.value
}

t.test('S1036-08 https: alone, and absolute', async t => {
  for (const url of ['javascript:alert(1)', 'JavaScript:alert(1)', ' java\nscript:alert(1)', 'file:///etc/passwd', 'data:text/html,x', 'vscode://x/y', 'ms-settings:privacy',
    'ftp://acme.example/', 'http://acme.example/', 'HTTP://acme.example/', 'blob:https://acme.example/1', 'view-source:https://acme.example/', 'mailto:a@acme.example']) {
    t.equal(refusal(url), 'not_https', url)
    t.equal(refusal(url, true), 'not_https', `${url}, for development`)
  }
  for (const url of ['', '/connect/1', '//acme.example/', 'acme.example', '-x', '--help', 'https://', 'https://a b.example/', 'https://acme.example:99999/']) t.equal(refusal(url), 'not_absolute', url)
})

t.test('what stands before the host is no host', async t => {
  for (const url of ['https://bank.example@evil.example/', 'https://user:pw@acme.example/', 'https://:pw@acme.example/']) t.equal(refusal(url), 'userinfo', url)
})

t.test('nobody is sent to this machine or its network, however it is spelled', async t => {
  for (const host of ['127.0.0.1', '127.1', '0x7f000001', '0x7f.1', '2130706433', '017700000001', '0177.0.0.1', '127.0.0.1.', '１２７.０.０.１', '127。0。0。1', '[::1]', '[::ffff:127.0.0.1]', '[0:0:0:0:0:0:0:1]',
    '0.0.0.0', '[::]', '10.0.0.1', '10.1', '172.16.0.1', '192.168.1.1', '0xc0a80101', '169.254.169.254', '[::ffff:a9fe:a9fe]', '[fe80::1]', '[fc00::1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '100.64.0.1', '224.0.0.1',
    'localhost', 'LOCALHOST', 'localhost.', 'acme.localhost', 'acme.localhost.', 'ｌocalhost']) t.equal(refusal(`https://${host}/`), 'private_address', host)
  for (const host of ['acme.example', 'localhost.acme.example', 'notlocalhost.example', '8.8.8.8', '[2606:4700::1111]']) t.equal(refusal(`https://${host}/`), undefined, host)
})

t.test('for development, loopback is let through, and nothing else', async t => {
  for (const url of ['http://127.0.0.1:3000/', 'http://localhost:3000/', 'http://[::1]:3000/', 'https://localhost/', 'https://127.0.0.1/']) {
    t.equal(refusal(url, true), undefined, url)
    t.not(refusal(url), undefined, url)
  }
  for (const url of ['https://10.0.0.1/', 'https://169.254.169.254/', 'https://[::ffff:127.0.0.1]/']) t.equal(refusal(url, true), 'private_address', url)
  for (const url of ['http://10.0.0.1/', 'http://acme.example/', 'http://localhost.acme.example/']) t.equal(refusal(url, true), 'not_https', url)
})

t.test('a URL has an end', async t => {
  const url = (length: number): string => 'https://acme.example/'.padEnd(length, 'a')
  t.equal(refusal(url(2048)), undefined)
  t.equal(refusal(url(2049)), 'too_long')
  t.equal(refusal(`https://acme.example/${'é'.repeat(400)}`), 'too_long', 'as it is shown')
  t.equal(refusal(`https://acme.example/${' '.repeat(1e6)}`), 'too_long')
})

t.test('what is shown is what is opened: normalised and ASCII', async t => {
  for (const [given, url] of [
    ['HTTPS://ACME.example', 'https://acme.example/'], ['https:acme.example/x', 'https://acme.example/x'], ['https:\\\\acme.example\\x', 'https://acme.example/x'], ['https://acme.example/a/../b', 'https://acme.example/b'],
    ['  https://acme.example/\t\n', 'https://acme.example/'], ['https://acme.example/"&calc.exe&"', 'https://acme.example/%22&calc.exe&%22'], ['https://acme.example/\u202Egpj', 'https://acme.example/%E2%80%AEgpj'],
    ['https://ac\u200Bme.example/', 'https://acme.example/'], ['https://acme.example:443/', 'https://acme.example/'], ['https://bücher.example/ü?ü#ü', 'https://xn--bcher-kva.example/%C3%BC?%C3%BC#%C3%BC']
  ] as const) {
    t.equal(seen(given).url, url)
    t.match(url, /^[\x21-\x7E]+$/)
  }
})

t.test('a host is shown in ASCII and in Unicode', async t => {
  t.strictSame(seen('https://bücher.example/').host, { ascii: 'xn--bcher-kva.example', unicode: 'bücher.example' })
  t.strictSame(seen('https://acme.example/').host, { ascii: 'acme.example', unicode: 'acme.example' })
  t.strictSame(seen('https://[2606:4700::1111]/').host, { ascii: '[2606:4700::1111]', unicode: '[2606:4700::1111]' })
})

t.test('what is worth a second look is said', async t => {
  for (const [url, warnings] of [
    ['https://acme.example/', []], ['https://acme.example:443/', []], ['https://docs.acme.example/xn--a', []],
    ['https://acme.example:8443/', ['unusual_port']], ['https://acme.example:80/', ['unusual_port']],
    ['https://bücher.example/', ['punycode']], ['https://xn--bcher-kva.example/', ['punycode']], ['https://login.xn--bcher-kva.example/', ['punycode']], ['https://axn--b.example/', []],
    ['https://\u0430pple.example/', ['punycode', 'mixed_scripts']], ['https://xn--pple-43d.example/', ['punycode', 'mixed_scripts']], ['https://g\u03BFogle.example/', ['punycode', 'mixed_scripts']],
    ['https://\u0440\u0430\u0443.example/', ['punycode']], ['https://日本語テスト.example/', ['punycode']], ['https://한국漢字.example/', ['punycode']], ['https://ไทย-1.example/', ['punycode']],
    ['https://8.8.8.8/', ['ip_address']], ['https://[2606:4700::1111]:8443/', ['unusual_port', 'ip_address']],
    ['https://intranet/', ['local_name']], ['https://mcp.corp.internal/', ['local_name']], ['https://printer.local./', ['local_name']], ['https://local.example/', []]
  ] as const) t.strictSame(seen(url).warnings, warnings, url)
})
