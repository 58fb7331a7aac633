import { SDK_V1 } from '../mcp-sdks.js'
import { importCopy, requireLoadedCopy } from '../package-copies.mjs'
import type { SdkServer } from './sdk.js'

/** What the guard needs of one loaded copy of SDK v1. */
export interface SdkV1Copy {
  readonly Server: new (...args: any[]) => SdkServer
  readonly UrlElicitationRequiredError: new (elicitations: any[], message?: string) => Error
}

const SERVER = `${SDK_V1}/server/index.js`
const TYPES = `${SDK_V1}/types.js`

/**
 * Gives the copies of the SDK that the host application can have made its server from: an error of one copy is a stranger to the other.
 * @returns a function, since the CommonJS copy may be loaded later than the plugin
 */
export async function loadSdkV1Copies (): Promise<() => readonly SdkV1Copy[]> {
  const esm = toCopy(await importCopy(SERVER), await importCopy(TYPES))
  return () => [esm, toCopy(requireLoadedCopy(SERVER), requireLoadedCopy(TYPES))].filter(copy => copy !== null)
}

/** @returns `null` when there is none, or one that is older than 1.23, which knows no URL-mode elicitation */
function toCopy (server: any, types: any): SdkV1Copy | null {
  if (typeof server?.Server !== 'function' || typeof types?.UrlElicitationRequiredError !== 'function') return null
  return { Server: server.Server, UrlElicitationRequiredError: types.UrlElicitationRequiredError }
}
