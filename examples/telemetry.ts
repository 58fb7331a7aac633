import { FastifyOtelInstrumentation } from '@fastify/otel'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http' // 0.222 or newer
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici'

/** For `registerInstrumentations`, or the `instrumentations` of `NodeSDK`, in a file that is loaded before the application. */
export const instrumentations = [
  new HttpInstrumentation({
    redactedQueryParamsServer: [ // of requests that come in; redactedQueryParams is for those that go out
      'code', 'state', 'iss', 'error_description',
      // What is redacted by default, which this list replaces:
      'sig', 'Signature', 'AWSAccessKeyId', 'X-Goog-Signature', 'X-Amz-Signature', 'X-Amz-Credential', 'X-Amz-Security-Token'
    ]
  }),
  new FastifyOtelInstrumentation({ // if you have it
    registerOnInitialization: true,
    requestHook: (span, { url }) => { span.setAttribute('url.path', url.split('?', 1)[0]!) }
  }),
  new UndiciInstrumentation()
]
