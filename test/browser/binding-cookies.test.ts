import Fastify, { type FastifyRequest } from 'fastify'
import t from 'tap'
import { createCookies } from '../../lib/browser/cookies.js'
import { createBindingCookies } from '../../lib/browser/binding-cookies.js'

t.test('T13 five cookies of each kind are kept, the oldest go first, and no kind pushes out another', async t => {
  const jar = new Map<string, string>()
  const app = Fastify()
  t.teardown(() => app.close())
  const cookies = await createCookies(app, true, 'test')
  const [flows, logins] = [createBindingCookies(cookies, 'flow', 60_000), createBindingCookies(cookies, 'login', 60_000)]
  app.get('/:do/:state', async (request, reply) => {
    const { do: what, state } = request.params as Record<string, string>
    if (what === 'clear') flows.clearAll(request, reply)
    else (what === 'flow' ? flows : logins).write(request, reply, state!, `${what}-${state}`)
    return 'ok'
  })
  const open = async (url: string): Promise<void> => {
    const response = await app.inject({ url, headers: { cookie: [...jar].map(pair => pair.join('=')).join('; ') } })
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0) jar.delete(name)
      else jar.set(name, value)
    }
  }
  const values = ({ readAll }: typeof flows): readonly string[] => readAll({ headers: { cookie: [...jar].map(pair => pair.join('=')).join('; ') } } as FastifyRequest)

  jar.set('__Host-mine-flow-0123456789abcdef', 'foreign')
  for (let i = 0; i < 4; i++) await open(`/login/${i}`)
  for (let i = 0; i < 7; i++) await open(`/flow/${i}`)
  t.strictSame(values(flows), ['flow-2', 'flow-3', 'flow-4', 'flow-5', 'flow-6'])
  t.strictSame(values(logins), ['login-0', 'login-1', 'login-2', 'login-3'])
  await open('/clear/x')
  t.strictSame(values(flows), [])
  t.equal(jar.size, 5, 'all of its own, and no others')
})
