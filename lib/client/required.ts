import { z } from 'zod'

/** An elicitation as it comes, not yet checked beyond its shape. */
export interface RawElicitation {
  readonly elicitationId?: string | undefined
  readonly url: string
  readonly message: string
}

/** No request needs more third parties than this at once; the others can be asked for when it is made again. */
export const MAX_ELICITATIONS = 10

const elicitationId = z.string().min(1).max(1024)

/** The parameters of `elicitation/create` in URL mode: MCP 2025-11-25 gives an id, 2026-07-28 does not. */
export const urlParams = z.object({ mode: z.literal('url'), elicitationId: elicitationId.optional(), url: z.string(), message: z.string().catch('') })

const member = urlParams.extend({ elicitationId })
const requiredError = z.object({ code: z.literal(-32042), data: z.object({ elicitations: z.unknown().refine(value => value !== undefined) }) })

/**
 * What `URLElicitationRequiredError` asks for: what is in URL mode and complete, each once. (MCP 2025-11-25, elicitation, "URL Elicitation Required Error")
 * @returns `null` for any other error: others use the code, too, and SDK v1 makes a plain `McpError` of it where it names no elicitations
 */
export function requiredBy (error: unknown): readonly RawElicitation[] | null {
  const parsed = requiredError.safeParse(error)
  if (!parsed.success) return null
  const { elicitations } = parsed.data.data
  const found: RawElicitation[] = []
  for (const one of Array.isArray(elicitations) ? elicitations : []) {
    if (found.length === MAX_ELICITATIONS) break
    const { success, data } = member.safeParse(one)
    if (success && !found.some(({ elicitationId, url }) => elicitationId === data.elicitationId || url === data.url)) found.push(data)
  }
  return found
}
