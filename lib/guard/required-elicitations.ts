import type { UrlElicitation } from './guard.js'

/** What `-32042` asks for, as it is on the wire (MCP 2025-11-25, elicitation, "URL Elicitation Required Error"). */
export function requiredElicitations (elicitations: readonly UrlElicitation[]): Array<{ mode: 'url', elicitationId: string, url: string, message: string }> {
  return elicitations.map(({ elicitationId, url, message }) => ({ mode: 'url', elicitationId, url, message }))
}
