import { z } from 'zod'
import { OptionsError } from '../errors.js'
import type { AddressPolicy } from '../ip-address.js'
import { allowLoopbackHttp } from '../loopback.js'
import { endpointSchema, readPolicy, registrationShape, urlSchema } from '../registration.js'
import { clientText, objectErrors } from '../schemas.js'
import type { Provider, ProviderDefinition } from '../types.js'

const NO_API = 'must name at least one origin that connection.fetch may send the access token to'

/**
 * Defines a third party by data. What it returns is checked, complete and frozen.
 * @throws FST_MCP_CONNECT_OPTIONS with the path of what is wrong and how to fix it
 */
export function defineProvider (definition: ProviderDefinition): Provider {
  const policy = readPolicy(definition)
  const result = definitionSchema(policy).safeParse(definition)
  if (!result.success) throw new OptionsError(`provider "${definition?.name ?? ''}": ${z.prettifyError(result.error)}`)
  return Object.freeze({ ...result.data, [allowLoopbackHttp]: policy.loopback })
}

function definitionSchema (policy: AddressPolicy): z.ZodType<Provider> {
  const origin = urlSchema(policy).refine(value => URL.canParse(value) && new URL(value).origin === value,
    'must be an origin, such as https://api.example.com, without a path or a trailing slash')
    .refine(value => !value.includes('*'), 'must be one origin: there are no wildcards')
  const shape = {
    name: clientText(100),
    ...registrationShape(policy),
    endpoints: z.strictObject({ authorization: urlSchema(policy), token: endpointSchema(policy) }, { error: objectErrors(['authorization', 'token']) }).readonly().exactOptional(),
    scopeSeparator: z.enum([' ', ','], 'must be " " or ","').default(' '),
    apiOrigins: z.array(origin, NO_API).min(1, NO_API).readonly()
  }
  return z.strictObject(shape, { error: objectErrors(Object.keys(shape)) })
}
