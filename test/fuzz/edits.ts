import * as fc from 'fast-check'

/** Stands for a text of the request's own, which must come back nowhere. */
export const CANARY = '¤'

const HOSTILE = [
  '', ' ', '\t', '\0', '\r\n', '\r\nx-injected: 1\r\n\r\n', '\u202E', '\u2028', '\uFEFF', '\uD800', '😀',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__proto__[x]', 'constructor[prototype]',
  '%', '%00', '%0d%0a', '%2e%2e%2f', '%2F', '%5C', '%E0%A4%A', '%ED%A0%80', '%u0041', '%25', '+', '..', '../..', '.', '/', '//', '\\', ';', ',', '"', '=', '&', '#', '?', '*', '~2', '|',
  '<script>alert(1)</script>', '"><img src=x onerror=1>', '\' OR 1=1 --', 'https://attacker.example/', '//attacker.example', '/\\attacker.example', 'javascript:alert(1)',
  'null', 'undefined', 'true', '[]', '{}', '-0', '-1', 'NaN', '1e309', '9007199254740993', '99999999999999', '127.0.0.1', '::1', 'access_denied', 'invalid_scope', 'server_error'
]

/** What somebody hostile writes; half of it with something to recognise it by. */
export const text: fc.Arbitrary<string> = fc.tuple(
  fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 30 }), fc.string({ maxLength: 30 })),
  fc.constantFrom('', CANARY)
).map(parts => parts.join(''))

const place = fc.nat({ max: 999 })

/** What is done to a text. Places are thousandths of its length, so that an edit fits every text. */
export type Edit =
  | { readonly edit: 'cut' | 'double', readonly at: number }
  | { readonly edit: 'flip', readonly at: number, readonly bit: number }
  | { readonly edit: 'insert', readonly at: number, readonly text: string }
  | { readonly edit: 'replace', readonly text: string }
  | { readonly edit: 'fill', readonly text: string, readonly times: number }
  | { readonly edit: 'encode', readonly how: 'all' | 'twice' | 'half' }

const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> => fc.record(model, { noNullPrototype: true })

export const edit: fc.Arbitrary<Edit> = fc.oneof(
  record({ edit: fc.constantFrom('cut', 'double'), at: place }),
  record({ edit: fc.constant('flip'), at: place, bit: fc.nat({ max: 7 }) }),
  record({ edit: fc.constant('insert'), at: place, text }),
  record({ edit: fc.constant('replace'), text }),
  record({ edit: fc.constant('fill'), text, times: fc.nat({ max: 4000 }) }),
  record({ edit: fc.constant('encode'), how: fc.constantFrom('all', 'twice', 'half') })
) as fc.Arbitrary<Edit>

const MAX_LENGTH = 100_000

export function applyEdit (value: string, change: Edit): string {
  const index = 'at' in change ? Math.floor(change.at * value.length / 1000) : 0
  const [before, after] = [value.slice(0, index), value.slice(index)]
  switch (change.edit) {
    case 'cut': return before
    case 'double': return value + after
    case 'flip': return value === '' ? '' : before + String.fromCharCode(value.charCodeAt(index) ^ 1 << change.bit) + after.slice(1)
    case 'insert': return before + change.text + after
    case 'replace': return change.text
    case 'fill': return (value + change.text.repeat(change.times)).slice(0, MAX_LENGTH)
    case 'encode': return encode(value, change.how)
  }
}

function encode (value: string, how: 'all' | 'twice' | 'half'): string {
  const all = [...Buffer.from(value)].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
  if (how === 'twice') return all.replaceAll('%', '%25')
  return how === 'half' ? all.slice(0, -1) : all
}
