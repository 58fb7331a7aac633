/** So many last characters tell one secret from all other texts. */
const TAIL = 12

export interface Secret {
  /** What it is: `state`, `code`, ... */
  readonly kind: string
  /** Whose it is; nobody's: the server's own. */
  readonly owner?: string
}

/**
 * What must not come out, however it is written. It is found by its end alone, in one pass over a text, however many there are:
 * fixtures/secrets.ts looks closer, and takes ten times as long.
 */
export class SecretIndex {
  readonly #byTail = new Map<string, Secret>()

  constructor (others?: SecretIndex) {
    if (others !== undefined) this.#byTail = new Map(others.#byTail)
  }

  add (kind: string, text: string, owner?: string): void {
    if (text.length < TAIL) throw new Error(`${kind} is too short to be found`)
    for (const form of forms(text)) this.#byTail.set(form.slice(-TAIL), { kind, ...owner !== undefined && { owner } })
  }

  /** The first secret that stands in a text. @param mayBe those that may */
  find (text: string, mayBe: (secret: Secret) => boolean = () => false): Secret | undefined {
    for (let start = 0; start + TAIL <= text.length; start++) {
      const secret = this.#byTail.get(text.slice(start, start + TAIL))
      if (secret !== undefined && !mayBe(secret)) return secret
    }
    return undefined
  }
}

function forms (text: string): string[] {
  const bytes = Buffer.from(text)
  // What base64 makes of it depends on where it begins, but for its ends.
  const parts = [0, 1, 2].map(skip => bytes.subarray(skip, skip + 3 * Math.floor((bytes.length - skip) / 3)))
  return [text, encodeURIComponent(text), bytes.toString('hex'), bytes.toString('hex').toUpperCase(),
    ...parts.flatMap(part => [part.toString('base64'), part.toString('base64url')])]
}
