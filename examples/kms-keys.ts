/*
 * The encryption keys, unwrapped by Google Cloud KMS once, at start-up. This makes a wrapped key:
 *
 *   openssl rand 32 | gcloud kms encrypt --location=global --keyring=connect --key=connect \
 *     --plaintext-file=- --ciphertext-file=- | base64 | tr -d '\n'
 */
export interface WrappedKeys {
  /** `projects/.../locations/global/keyRings/connect/cryptoKeys/connect` */
  readonly cryptoKey: string
  /** In base64, the newest first. */
  readonly wrapped: readonly string[]
  /** Access token of a service account that may decrypt with the key. */
  readonly accessToken: string
  readonly origin?: string
}

/** For the option `keys` of the plugin: `keys: await unwrapKeys({ ..., accessToken: await instanceToken() })`. */
export async function unwrapKeys ({ cryptoKey, wrapped, accessToken, origin = 'https://cloudkms.googleapis.com' }: WrappedKeys): Promise<string[]> {
  return await Promise.all(wrapped.map(async (ciphertext, i) => await ask('plaintext', // in base64, as `keys` takes it
    `Cloud KMS did not unwrap key ${i + 1} of ${wrapped.length} (1 is the newest)`, `${origin}/v1/${cryptoKey}:decrypt`,
    { method: 'POST', headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }, body: JSON.stringify({ ciphertext }) })))
}

/** The access token of the service account that this instance of Compute Engine, GKE or Cloud Run runs as. */
export async function instanceToken (origin = 'http://metadata.google.internal'): Promise<string> {
  return await ask('access_token', 'The metadata server gave no access token',
    `${origin}/computeMetadata/v1/instance/service-accounts/default/token`, { headers: { 'metadata-flavor': 'Google' } })
}

async function ask (field: string, failure: string, url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) })
    .catch(error => { throw new Error(`${failure}: no answer, ${error.cause?.code ?? error.name}`) })
  const answer = await response.json().catch(() => ({})) as Record<string, unknown>
  if (response.status === 200 && typeof answer[field] === 'string') return answer[field]
  throw new Error(`${failure}: status ${response.status}, no ${field}`) // what else it says stays out of logs
}
