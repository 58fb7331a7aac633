import { createRequire } from 'node:module'
import type { UrlElicitationRequiredError } from './sdk-v2.js'

/**
 * Loads `@modelcontextprotocol/server` 2.x, whose copies know each other's errors. It is loaded when a server of it is seen, and not before.
 * @returns `null` when this package cannot load it
 */
export function loadSdkV2 (): UrlElicitationRequiredError | null {
  try {
    // @ts-ignore The CommonJS pass, which emits this file as ESM too, takes exception to import.meta.
    return createRequire(import.meta.url)('@modelcontextprotocol/server').UrlElicitationRequiredError
  } catch {
    return null
  }
}
