import { subtle } from 'node:crypto'
import * as client from 'openid-client'
import type { CheckedKey } from '../client-registration.js'
import type { Registration } from '../types.js'

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }
const imported = new WeakMap<CheckedKey, Promise<CryptoKey>>()

type CryptoKey = Extract<Parameters<typeof client.PrivateKeyJwt>[0], { readonly algorithm: unknown }>

/**
 * How this server authenticates, with whatever it asks of an authorization server: by its secret, by an assertion for the issuer that its key has
 * signed (RFC 7523 section 2.2), or by its name alone.
 */
export function clientAuthentication ({ clientSecret, privateKey, clientAuthentication: way }: Registration): client.ClientAuth {
  if (privateKey !== undefined) return signed(privateKey)
  if (clientSecret === undefined) return client.None()
  return way === 'client_secret_post' ? client.ClientSecretPost(clientSecret) : basic(clientSecret)
}

/** Id and secret are form-encoded (RFC 6749 section 2.3.1), and no character that need not be: some servers take them as they are. */
function basic (clientSecret: string): client.ClientAuth {
  return (_server, { client_id: clientId }, _body, headers) => {
    const credentials = [clientId, clientSecret].map(value => encodeURIComponent(value).replaceAll('%20', '+')).join(':')
    headers.set('authorization', `Basic ${Buffer.from(credentials).toString('base64')}`)
  }
}

function signed (privateKey: CheckedKey): client.ClientAuth {
  return async (...request) => {
    const key = imported.get(privateKey) ?? importKey(privateKey)
    imported.set(privateKey, key)
    await client.PrivateKeyJwt({ key: await key, ...privateKey.kid !== undefined && { kid: privateKey.kid } })(...request)
  }
}

async function importKey ({ key, alg }: CheckedKey): Promise<CryptoKey> {
  const hash = `SHA-${alg.slice(2)}`
  const names: Readonly<Record<string, string>> = { RS: 'RSASSA-PKCS1-v1_5', PS: 'RSA-PSS' }
  const name = names[alg.slice(0, 2)]
  const algorithm = name === undefined ? { name: 'ECDSA', namedCurve: CURVES[alg]! } : { name, hash }
  return await subtle.importKey('pkcs8', key.export({ type: 'pkcs8', format: 'der' }), algorithm, false, ['sign'])
}
