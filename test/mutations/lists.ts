import type { Mutation } from './mutation.js'
import { elicitation } from './elicitation.js'
import { state } from './state.js'
import { vault } from './vault.js'

/** All mutations, by folder of lib. */
export const lists: Readonly<Record<string, readonly Mutation[]>> = {
  elicitation,
  state,
  vault
}
