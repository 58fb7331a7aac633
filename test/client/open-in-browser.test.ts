import { chmodSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { inspect } from 'node:util'
import t from 'tap'
import { browserCommand, openInBrowser } from '../../lib/client/open-in-browser.js'

const HOSTILE = 'https://acme.example/$(touch%20x)`x`;x|x&calc.exe&%PATH%?a=\'b\'&c=^d#!-x'
const { href } = new URL(HOSTILE)

t.test('each system has its program, which is given the address as one argument', async t => {
  t.strictSame(browserCommand('linux', href, {}), ['xdg-open', [href]])
  t.strictSame(browserCommand('freebsd', href, {}), ['xdg-open', [href]])
  t.strictSame(browserCommand('darwin', href, {}), ['/usr/bin/open', [href]])
  t.strictSame(browserCommand('win32', href, { SystemRoot: 'D:\\Windows' }), ['D:\\Windows\\System32\\rundll32.exe', ['url.dll,FileProtocolHandler', href]])
  t.strictSame(browserCommand('win32', href, {})[0], 'C:\\Windows\\System32\\rundll32.exe')
})

t.test('a real program gets a hostile address as it is: no shell has read it', { skip: process.platform !== 'linux' && 'xdg-open is of Linux' }, async t => {
  const folder = t.testdir({
    'package.json': '{"type":"commonjs"}',
    'xdg-open': `#!${process.execPath}
const { renameSync, writeFileSync } = require('node:fs')
writeFileSync(__dirname + '/part', JSON.stringify(process.argv.slice(2)))
renameSync(__dirname + '/part', __dirname + '/arguments.json')
`
  })
  chmodSync(join(folder, 'xdg-open'), 0o755)
  const { PATH, NODE_OPTIONS } = process.env
  t.teardown(() => { Object.assign(process.env, { PATH }, NODE_OPTIONS !== undefined && { NODE_OPTIONS }) })
  process.env.PATH = folder
  delete process.env.NODE_OPTIONS
  await openInBrowser(HOSTILE)
  let given: string | undefined
  while (given === undefined) {
    try {
      given = readFileSync(join(folder, 'arguments.json'), 'utf8')
    } catch {
      await setTimeout(10)
    }
  }
  t.strictSame(JSON.parse(given), [href])
})

t.test('a program that is not there is told, without the address', async t => {
  const { PATH } = process.env
  t.teardown(() => { process.env.PATH = PATH })
  process.env.PATH = t.testdir({})
  const error = await openInBrowser('https://acme.example/secret').catch(error => error)
  t.match(error, { message: /^xdg-open cannot be started: ENOENT$/ })
  t.notMatch(inspect(error, { depth: 9, showHidden: true }), /secret/)
})

t.test('no other address than one of the web is opened, and none is an option', async t => {
  for (const url of ['-x', '--help', 'file:///etc/passwd', 'javascript:1', 'calc.exe', '', pathToFileURL('x').href]) await t.rejects(openInBrowser(url), { name: 'TypeError' }, url)
})
