import { createRequire } from 'node:module'

/*
 * A package that comes as ESM and as CommonJS comes twice: the classes of one copy are strangers to the other. This module is ESM in
 * both builds, so that both copies of what the host has installed can be reached.
 */

// @ts-ignore The CommonJS pass, which emits this file as ESM too, takes exception to import.meta.
const require = createRequire(import.meta.url)

/** The ESM copy of a module. @returns `null` when it cannot be loaded, as when it is not installed */
export async function importCopy (name: string): Promise<any> {
  return await import(name).catch(() => null)
}

/** The CommonJS copy of a module. @returns `null` when it cannot be loaded, as when it is not installed */
export function requireCopy (name: string): any {
  try {
    return require(name)
  } catch {
    return null
  }
}

/** The CommonJS copy of a module if the host has loaded it; it is not loaded for the sake of asking. */
export function requireLoadedCopy (name: string): any {
  try {
    return require.cache[require.resolve(name)]?.exports ?? null
  } catch {
    return null                                   // not installed
  }
}
