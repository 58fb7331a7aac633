import type { Adapter, AdapterPayload } from 'oidc-provider'

interface Entry {
  readonly payload: AdapterPayload
  readonly expiresAt: number
}

/** What one authorization server remembers, by kind of record. */
export class AuthorizationServerMemory {
  readonly #kinds = new Map<string, Map<string, Entry>>()

  /** Forgets every record of one kind, such as all access tokens. */
  forget (kind: string): void {
    this.#kinds.get(kind)?.clear()
  }

  /** The view of one kind of records that oidc-provider asks for. */
  adapter (kind: string): Adapter {
    const entries = this.#entries(kind)
    const findBy = async (member: 'uid' | 'userCode', value: string) => {
      for (const [id, { payload }] of entries) {
        if (payload[member] === value) return await find(id)
      }
      return undefined
    }
    const find = async (id: string) => {
      const entry = entries.get(id)
      if (entry == null || entry.expiresAt <= Date.now()) {
        entries.delete(id)
        return undefined
      }
      return entry.payload
    }
    return {
      find,
      findByUid: uid => findBy('uid', uid),
      findByUserCode: userCode => findBy('userCode', userCode),
      async upsert (id, payload, expiresIn) {
        entries.set(id, { payload, expiresAt: expiresIn == null ? Infinity : Date.now() + expiresIn * 1000 })
      },
      async consume (id) {
        const entry = entries.get(id)
        if (entry != null) entry.payload.consumed = Math.floor(Date.now() / 1000)
      },
      async destroy (id) {
        entries.delete(id)
      },
      async revokeByGrantId (grantId) {
        for (const [id, { payload }] of entries) {
          if (payload.grantId === grantId) entries.delete(id)
        }
      }
    }
  }

  #entries (kind: string): Map<string, Entry> {
    let entries = this.#kinds.get(kind)
    if (entries == null) this.#kinds.set(kind, entries = new Map())
    return entries
  }
}
