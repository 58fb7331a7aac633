/** So many, in a fixed window that begins with the first; `false`: without limit. */
export type LimitOption = { readonly max: number, readonly windowMs: number } | false

/** How often something may be done. Whoever does it more often is told when to come back (RFC 6585 section 4). */
export interface Limits {
  /** Requests for pages without anybody signed in, by address (IPv6: by /64). @default { max: 300, windowMs: 60000 } */
  readonly address?: LimitOption
  /** Requests for pages, by whoever is signed in. @default { max: 120, windowMs: 60000 } */
  readonly principal?: LimitOption
  /** New elicitations that a client has caused, by principal and client. @default { max: 30, windowMs: 3600000 } */
  readonly elicitations?: LimitOption
}
