import { answers } from './browser-answers.js'
import { callback } from './browser-callback.js'
import { forms } from './browser-forms.js'
import { login } from './browser-login.js'
import { pages } from './browser-pages.js'
import { client } from './client.js'
import { leases } from './connections.js'
import { elicitation } from './elicitation.js'
import { endpoint } from './endpoint.js'
import { guard } from './guard.js'
import type { Mutation } from './mutation.js'
import { oauth } from './oauth.js'
import { outbound } from './outbound.js'
import { state } from './state.js'
import { vault } from './vault.js'

/** All mutations, by folder of lib. */
export const lists: Readonly<Record<string, readonly Mutation[]>> = {
  browser: [...pages, ...forms, ...callback, ...login, ...answers],
  client,
  elicitation,
  endpoint,
  guard,
  oauth: [...oauth, ...outbound],
  state: [...state, ...leases],
  vault
}

/** Files of these folders in which there is nothing to remove, and why. */
export const withoutControls: Readonly<Record<string, string>> = {
  'lib/browser/login/login-services.ts': 'types alone',
  'lib/browser/pages/signed-out.ts': 'fixed words around configuration',
  'lib/client/index.ts': 'exports alone',
  'lib/client/types.ts': 'types alone',
  'lib/endpoint/index.ts': 'exports alone',
  'lib/endpoint/sdk.ts': 'types alone',
  'lib/endpoint/sdk-v1.ts': 'the SDK alone',
  'lib/endpoint/sdk-v2-copy.ts': 'looks for packages; what comes of it is in sdk-v2.ts',
  'lib/endpoint/types.ts': 'types alone',
  'lib/guard/sdk.ts': 'types alone',
  'lib/guard/sdk-v2-copy.ts': 'asks for a package alone',
  'lib/guard/texts.ts': 'fixed words around configuration'
}
