import { createRequire } from 'node:module'

/** What is used of SDK v1's `Server`. */
export interface SdkServer {
  getClientCapabilities (): unknown
  getClientVersion (): unknown
  readonly transport?: object
  createElicitationCompletionNotifier (elicitationId: string): () => Promise<void>
}

/** What the guard needs of one loaded copy of `@modelcontextprotocol/sdk` 1.x. */
export interface SdkCopy {
  readonly Server: new (...args: any[]) => SdkServer
  readonly UrlElicitationRequiredError: new (elicitations: any[], message?: string) => Error
}

const SERVER = '@modelcontextprotocol/sdk/server/index.js'
const TYPES = '@modelcontextprotocol/sdk/types.js'

/**
 * Gives the copies of the SDK that the host application can have made its server from. The package comes twice, as
 * ESM and as CommonJS, and an error of one copy is a stranger to the other. This module is ESM in both builds, so
 * that both can be reached.
 * @returns a function, since the CommonJS copy may be loaded later than the plugin
 */
export async function loadSdkCopies (): Promise<() => readonly SdkCopy[]> {
  // @ts-ignore The CommonJS pass, which emits this file as ESM too, takes exception to import.meta.
  const require = createRequire(import.meta.url)
  const esm = await importCopy()
  return () => [esm, requiredCopy(require)].filter(copy => copy !== null)
}

async function importCopy (): Promise<SdkCopy | null> {
  try {
    return toCopy(await import(SERVER), await import(TYPES))
  } catch {
    return null                                   // not installed
  }
}

/** The CommonJS copy if the host has loaded it; it is not loaded for the sake of asking. */
function requiredCopy (require: NodeJS.Require): SdkCopy | null {
  try {
    if (require.cache[require.resolve(SERVER)] === undefined) return null
    return toCopy(require(SERVER), require(TYPES))
  } catch {
    return null
  }
}

/** @returns `null` when the copy is older than 1.23, which knows no URL-mode elicitation */
function toCopy ({ Server }: any, { UrlElicitationRequiredError }: any): SdkCopy | null {
  return typeof UrlElicitationRequiredError === 'function' ? { Server, UrlElicitationRequiredError } : null
}
