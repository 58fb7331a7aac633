import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { encodeFields } from '../encoding.js'
import { CsrfFailedError, FormInvalidError } from '../errors.js'
import type { KeyRing } from '../vault/key-ring.js'

const LIFETIME_MS = 60 * 60_000

const formSchema = z.strictObject({ csrf: z.string() })

/** Shows that a form was sent by a page of ours, in this browser session, for this very action. */
export interface Csrf {
  token (session: string, action: string): string
  /** @throws FST_MCP_CONNECT_FORM_INVALID, FST_MCP_CONNECT_CSRF_FAILED */
  check (request: FastifyRequest, session: string | null, action: string): void
}

/** @param origin what browsers send in `Origin` for our own pages */
export function createCsrf (ring: KeyRing, origin: string): Csrf {
  const secrets = ring.derive('csrf token')
  const mac = (secret: Buffer, fields: readonly string[]): Buffer => createHmac('sha256', secret).update(encodeFields(fields)).digest()

  const fromOurPage = ({ headers }: FastifyRequest): boolean =>
    (headers.origin === undefined || headers.origin === origin) &&
    (headers['sec-fetch-site'] === undefined || headers['sec-fetch-site'] === 'same-origin')

  return {
    token (session, action) {
      const expiresAt = String(Date.now() + LIFETIME_MS)
      return `${expiresAt}.${mac(secrets[0]!, [session, action, expiresAt]).toString('base64url')}`
    },

    check (request, session, action) {
      const form = formSchema.safeParse(request.body)
      if (!form.success) throw new FormInvalidError()
      const [expiresAt = '', given = ''] = form.data.csrf.split('.')
      const bytes = Buffer.from(given, 'base64url')
      const genuine = session !== null && bytes.length === 32 && Number(expiresAt) > Date.now() &&
        secrets.some(secret => timingSafeEqual(bytes, mac(secret, [session, action, expiresAt])))
      if (!genuine || !fromOurPage(request)) throw new CsrfFailedError()
    }
  }
}
