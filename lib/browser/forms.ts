import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { encodeFields } from '../encoding.js'
import { CsrfFailedError, FormInvalidError, OriginMismatchError } from '../errors.js'
import { plainText } from '../plain-text.js'
import { principalFields } from '../principal.js'
import type { Principal } from '../types.js'
import type { KeyRing } from '../vault/key-ring.js'
import type { FormCookies } from './form-cookies.js'
import type { Urls } from './urls.js'

const LIFETIME_MS = 60 * 60_000

const bodySchema = z.strictObject({ csrf: z.string() })

/** A form of one button, as a page shows it. */
export interface FormView {
  readonly action: string
  readonly csrf: string
}

/** Sees to it that a form was sent from a page of ours, shown in this browser, to this user, for this very action. */
export interface Forms {
  /** @returns what makes the token of each form of one page. Its `action` says what the form does, and to what */
  open (request: FastifyRequest, reply: FastifyReply, principal: Principal): Promise<(action: readonly string[]) => string>
  /** @throws FST_MCP_CONNECT_FORM_INVALID, FST_MCP_CONNECT_ORIGIN_MISMATCH, FST_MCP_CONNECT_CSRF_FAILED */
  check (request: FastifyRequest, principal: Principal, action: readonly string[]): Promise<void>
  /** The forms that this browser was shown are void. */
  close (request: FastifyRequest, reply: FastifyReply): void
}

export function createForms (ring: KeyRing, cookies: FormCookies, { origin, connections }: Urls): Forms {
  const secrets = ring.derive('csrf token')

  function makeToken (secret: Buffer, browser: string, expiresAt: string, principal: Principal, action: readonly string[]): string {
    const mac = createHmac('sha256', secret).update(encodeFields([connections, expiresAt, browser, ...principalFields(principal), ...action])).digest('base64url')
    return `${browser}.${expiresAt}.${mac}`
  }

  return {
    async open (request, reply, principal) {
      const browser = await cookies.open(request, reply, principal)
      const expiresAt = String(Date.now() + LIFETIME_MS)
      return action => makeToken(secrets[0]!, browser, expiresAt, principal, action)
    },

    async check (request, principal, action) {
      const body = bodySchema.safeParse(request.body)
      if (!body.success) throw new FormInvalidError()
      const { origin: from, 'sec-fetch-site': site } = request.headers
      if (from !== undefined && from !== origin) throw new OriginMismatchError(plainText(from, 100), origin)
      if (site !== undefined && site !== 'same-origin') throw new CsrfFailedError()
      const { csrf } = body.data
      const [browser = '', expiresAt = ''] = csrf.split('.')
      const genuine = Number(expiresAt) > Date.now() && secrets.some(secret => isSame(csrf, makeToken(secret, browser, expiresAt, principal, action)))
      if (!genuine || !await cookies.has(request, principal, browser)) throw new CsrfFailedError()
    },

    close: cookies.clear
  }
}

/** Character by character: Node would read a changed MAC as the same bytes. */
function isSame (given: string, made: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(made)]
  return a.length === b.length && timingSafeEqual(a, b)
}
