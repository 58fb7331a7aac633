/* eslint-disable no-template-curly-in-string -- what is looked for is source text */
import { mutationsOf } from './mutation.js'

const SESSIONS = ['test/state/browser-sessions.test.ts']
const GENERATIONS = ['test/state/generations.test.ts']

export const state = [
  ...mutationsOf('lib/state/browser-sessions.ts', SESSIONS,
    { name: 'the id of a session can be guessed', find: 'const id = randomToken()', replace: 'const id = hashPrincipal(principal)' },
    { name: 'the id of a session is stored in the clear', find: "hashFields('browser session', id)", replace: 'id' },
    { name: 'a session that the store did not take is begun', find: 'throw new StoreContentionError()', replace: 'return id' },
    { name: 'the store keeps a session for longer than it may be idle', find: 'null, Math.min(idleMs, absoluteMs)', replace: 'null, absoluteMs' },
    { name: 'the store keeps a session for longer than its lifetime', find: 'null, Math.min(idleMs, absoluteMs)', replace: 'null, idleMs' },
    { name: 'an idle session is alive as long as the store has it', find: 'record.seenAt + idleMs <= now || ', replace: '' },
    { name: 'a session outlives its lifetime', find: 'record.endsAt <= now || ', replace: '' },
    { name: 'sessions of a principal go on when all are ended', find: ' || await isEnded(record)', replace: '' },
    { name: 'a session whose generation the store has lost is alive', find: 'await generations.keep(hashPrincipal(principal))', replace: 'await generations.current(hashPrincipal(principal))' },
    { name: 'a session that is used is not prolonged', find: 'now - record.seenAt > idleMs * RENEWAL', replace: 'now < record.seenAt' },
    { name: 'a session is written at each request', find: 'now - record.seenAt > idleMs * RENEWAL', replace: 'now >= record.seenAt' },
    { name: 'a session that has been ended meanwhile is written anew', find: 'await records.put(keyOf(id), { ...record, seenAt: now }, revision,', replace: 'for (const expected of [revision, null]) await records.put(keyOf(id), { ...record, seenAt: now }, expected,' },
    { name: 'the store keeps a session beyond its end', find: 'Math.min(idleMs, record.endsAt - now)', replace: 'idleMs' },
    { name: 'a session that is ended while it is used goes on', find: 'revision) ? record : LOST', replace: 'revision) !== null ? record : LOST' },
    { name: 'a session is not ended', find: 'revision === null || await', replace: 'true || await' },
    { name: 'the sessions of a principal are not ended', find: 'await generations.begin(hashPrincipal(principal))', replace: '' },
    { name: 'ending the sessions of one principal ends those of all', find: 'await generations.keep(hashPrincipal(principal))', replace: "await generations.keep('all')", also: [{ find: 'await generations.current(hashPrincipal(principal))', replace: "await generations.current('all')" }, { find: 'await generations.begin(hashPrincipal(principal))', replace: "await generations.begin('all')" }] },
    { name: 'the generation of a session is forgotten before its end', find: 'absoluteMs + MARGIN_MS', replace: 'idleMs' },
    { name: 'that somebody has signed in is not told', find: "audit('session.started', auditIdsOf(principal))", replace: '' },
    { name: 'that somebody has signed out is not told', find: "if (ended !== null) audit('session.ended', auditIdsOf(ended.principal))", replace: '' },
    { name: 'that all sessions of somebody were ended is not told', find: "audit('session.revoked', auditIdsOf(principal))", replace: '' }
  ),
  ...mutationsOf('lib/state/generations.ts', GENERATIONS,
    { name: 'of two generations that begin at once one is lost', find: '=== null ? LOST : generation', replace: '=== null ? generation : generation' },
    { name: 'a generation begins again with old numbers', find: 'Math.max(Date.now(), generation + 1)', replace: 'generation + 1' },
    { name: 'a generation does not grow when the clock is set back', find: 'Math.max(Date.now(), generation + 1)', replace: 'Date.now()' },
    { name: 'a generation that the store has lost is not noticed', find: 'generation ?? Date.now()', replace: 'generation ?? 0' },
    { name: 'keeping a generation begins the next one', find: 'generation => generation ?? Date.now()', replace: '() => Date.now()' },
    { name: 'the record of a generation is kept for a moment', find: 'revision, ttlMs)', replace: 'revision, 1)' },
    { name: 'the record of a generation is not prolonged', find: 'revision, ttlMs)', replace: 'revision, revision === null ? ttlMs : undefined)' }
  ),
  ...mutationsOf('lib/state/limiter.ts', ['test/state/limiter.test.ts'],
    { name: 'nothing is limited', find: 'result.count <= max', replace: 'result.count >= 0' },
    { name: 'one more than the limit is let through', find: 'result.count <= max', replace: 'result.count <= max + 1' },
    { name: 'the last one of the limit is refused', find: 'result.count <= max', replace: 'result.count < max' },
    { name: 'a limit that is switched off still counts', find: 'if (limit === false) return', replace: 'if (limit === false) throw new Error()' },
    { name: 'a store that fails lets nothing through', find: 'if (result === null ||', replace: 'if (result === null) throw new Error()\n      if (' },
    { name: 'a store that fails is told each time', find: 'toldAt + TELL_INTERVAL_MS <= Date.now()', replace: 'toldAt <= Date.now()' },
    { name: 'a store that fails is told once and never again', find: 'toldAt + TELL_INTERVAL_MS <= Date.now()', replace: 'toldAt < 0' },
    { name: 'a store that fails is not told', find: 'onError(error)', replace: '' },
    { name: 'each refusal says that it is the first', find: 'result.count === max + 1', replace: 'result.count > max' },
    { name: 'no refusal says that it is the first', find: 'result.count === max + 1', replace: 'result.count === max' },
    { name: 'somebody is told to wait for longer than a window', find: 'Math.min(result.resetMs, windowMs)', replace: 'result.resetMs' },
    { name: 'limits of different kinds are counted together', find: '`limit-${kind}:${key}`', replace: '`limit:${key}`' }
  ),
  ...mutationsOf('lib/state/records.ts', ['test/state/records.test.ts'],
    { name: 'a record is not bound to its key', find: 'sealer.open(value, [kind, key])', replace: 'sealer.open(value, [kind])', also: [{ find: 'JSON.stringify(record), [kind, key])', replace: 'JSON.stringify(record), [kind])' }] },
    { name: 'a record is not bound to its kind', find: 'sealer.open(value, [kind, key])', replace: 'sealer.open(value, [key])', also: [{ find: 'JSON.stringify(record), [kind, key])', replace: 'JSON.stringify(record), [key])' }] },
    { name: 'records are stored in the clear', find: 'sealer.open(value, [kind, key])', replace: 'value', also: [{ find: 'sealer.seal(JSON.stringify(record), [kind, key])', replace: 'JSON.stringify(record)' }] },
    { name: 'records of different kinds share their rows', find: '`${kind}:${key}`', replace: 'key', tests: ['test/elicitation/elicitations.test.ts'] },
    { name: 'a fault counts as a record that is not there', find: 'if (!(error instanceof SealBrokenError)) throw error', replace: '' },
    { name: 'a row that cannot be opened is a fault', find: 'onUnreadable?.(error)\n      return null', replace: 'throw error' },
    { name: 'a row that cannot be opened is not told', find: 'onUnreadable?.(error)', replace: '' },
    { name: 'a row that cannot be opened cannot be written anew', find: 'record: open(key, stored.value), revision: stored.revision', replace: 'record: open(key, stored.value), revision: open(key, stored.value) === null ? null : stored.revision' },
    { name: 'the lifetime of a record is not passed on', find: 'expected, ttlMs),', replace: 'expected),' },
    { name: 'a record is written whatever is there', find: 'put: (key, record, expected, ttlMs) => state.put(', replace: 'put: async (key, record, _expected, ttlMs) => await state.put(', also: [{ find: '[kind, key]), expected, ttlMs)', replace: '[kind, key]), (await state.get(rowKey(key)))?.revision ?? null, ttlMs)' }] },
    { name: 'a record is deleted whatever is there', find: 'delete: (key, expected) => state.delete(rowKey(key), expected)', replace: 'delete: async key => await state.delete(rowKey(key), (await state.get(rowKey(key)))!.revision)' }
  )
]
