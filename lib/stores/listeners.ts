type Listener = (message: string) => void

/** Who listens on a bus. */
export interface Listeners {
  readonly size: number
  /** @returns ends this subscription, and no other one of the same function */
  add (listener: Listener): () => void
  tell (message: string): void
  clear (): void
}

export function createListeners (): Listeners {
  const subscriptions = new Map<object, Listener>()
  return {
    get size () { return subscriptions.size },
    add (listener) {
      const subscription = {}
      subscriptions.set(subscription, listener)
      return () => { subscriptions.delete(subscription) }
    },
    tell (message) {
      for (const listener of [...subscriptions.values()]) listener(message)
    },
    clear: () => subscriptions.clear()
  }
}
