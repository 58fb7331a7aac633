import { SDK_V2 } from '../mcp-sdks.js'
import { requireCopy } from '../package-copies.mjs'

/** What the guard needs of one loaded copy of SDK v2. */
export interface SdkV2Copy {
  /** Becomes `-32042`. */
  readonly UrlElicitationRequiredError: new (elicitations: any[], message?: string) => Error
}

/**
 * Loads SDK v2, whose copies know each other's errors: any will do. It is loaded when a server of it is seen, and not before.
 * @returns `null` when this package cannot load it
 */
export function loadSdkV2 (): SdkV2Copy | null {
  return requireCopy(SDK_V2)
}
