import { OptionsError } from './errors.js'

/**
 * Reads what a function of the host has answered to a question of yes or no.
 * @throws FST_MCP_CONNECT_OPTIONS for anything else: a text such as "no", or a promise that nobody waits for, would count as a yes
 */
export function yesOrNo (option: string, answer: unknown): boolean {
  if (typeof answer === 'boolean') return answer
  throw new OptionsError(`${option} must answer true or false, and not ${describe(answer)}`)
}

function describe (answer: unknown): string {
  if (answer === null || answer === undefined) return String(answer)
  if (typeof (answer as { readonly then?: unknown }).then !== 'function') return `a value of type ${typeof answer}`
  Promise.resolve(answer).catch(() => {})                  // it may reject, and nobody waits for it
  return 'a promise: it is asked at once'
}
