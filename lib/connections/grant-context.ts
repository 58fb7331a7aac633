/**
 * What a sealed grant is bound to: its place in the vault, and with it to the tenant, issuer, subject and provider that the
 * place is the hash of. So it can be resealed without knowing whose it is.
 */
export function grantContext (owner: string, name: string): readonly string[] {
  return ['grant', owner, name]
}
