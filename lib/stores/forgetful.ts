/** Parts of stores that keep things in this process only. */
const forgetful = new WeakSet<object>()

export function markForgetful (part: object): void {
  forgetful.add(part)
}

export function isForgetful (part: object): boolean {
  return forgetful.has(part)
}
