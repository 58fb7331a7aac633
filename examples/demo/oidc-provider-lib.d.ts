// The package's main module warns on stderr under Node.js 20; the module behind it does not.
declare module 'oidc-provider/lib/provider.js' {
  export { Provider } from 'oidc-provider'
}

declare module 'oidc-provider/lib/helpers/errors.js' {
  import { errors } from 'oidc-provider'
  export const InvalidTarget: typeof errors.InvalidTarget
}
