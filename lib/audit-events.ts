import type { FastifyBaseLogger } from 'fastify'
import type { AtProvider } from './account.js'

/*
 * What is told to `onAudit`, and to the log. Whoever it is about stands in it as a hash, which `mcpConnect.auditIdsOf` gives to
 * whoever knows them; nothing in it was written by a provider, or is a secret.
 */

/** Somebody, hashed. */
export interface AuditIds {
  /** SHA-256 of the principal, in 64 hexadecimal digits. */
  readonly principal: string
  /** The same of its tenant, where there is one. */
  readonly tenant?: string
}

/** What somebody connects, or has connected. */
export interface AuditedConnection extends AuditIds {
  /** The key of the provider; `?` where a connection was deleted whose provider is not configured any more. */
  readonly provider: string
}

export interface AuditedElicitation extends AuditedConnection {
  /** Its id, hashed. */
  readonly elicitation: string
}

/** One attempt to redeem an authorization code. */
export interface AuditedAttempt extends AuditedElicitation {
  /** The same in all events of one attempt. */
  readonly attempt: string
}

/** A request of a browser that was turned down; what it is about stands in it as far as that is known. */
export interface AuditedRefusal extends Partial<AuditedElicitation> {
  /** The code of the error, ours or Fastify's; `OTHER` for errors of others. */
  readonly code: string
}

/** Why an access token could not be refreshed: the provider cannot be asked just now, or does not accept this server's registration. */
export type RefreshFailure = 'later' | 'misregistered'

/** Why a grant that was deleted here may still be there at its provider; `given_up`: it could not be told for a week. */
export type RevocationFailure = Exclude<AtProvider, 'revoked' | 'later' | 'spared'> | 'given_up'

/** Why a guarded handler did not run, and its caller was sent no link either. */
export type BlockReason = RefreshFailure | 'no_principal' | 'not_authorized' | 'not_connected' | 'not_finished' | 'declined' | 'scopes_withheld' | 'unreadable' | 'failure'

/** What each event tells, by its name. */
export interface AuditEvents {
  /** There is a new link: for the client of this hash, or without one for the connections page, where users of clients go that cannot be sent links. */
  'elicitation.created': AuditedElicitation & { readonly client?: string }
  /** Its own user looks at it. */
  'elicitation.opened': AuditedElicitation
  /** Its own user has pressed the button, and goes to the provider to be asked for these scopes. */
  'elicitation.started': AuditedElicitation & { readonly scopes: readonly string[] }
  /** The user has said no, here or at the provider. */
  'elicitation.declined': AuditedElicitation
  /** The user is connected by it. */
  'elicitation.completed': AuditedElicitation
  /** It cannot be completed: `authorize` has turned it down, or the provider a scope. */
  'elicitation.failed': AuditedElicitation
  /** Its own user came too late. */
  'elicitation.expired': AuditedRefusal
  /** Somebody else has opened it, has sent one of its forms, or came back from the provider. `principal` is that one; `owner` is whose it is. */
  'elicitation.subject_mismatch': AuditedElicitation & { readonly owner: string, readonly code: string, readonly differing: ReadonlyArray<'issuer' | 'subject' | 'tenant'> }

  /** An authorization response without a `state` of ours. */
  'callback.state_invalid': AuditedRefusal
  /** One for a flow that is spent. */
  'callback.replay': AuditedRefusal
  /** One for another provider, registration or redirect URI than the flow was started with. */
  'callback.context_mismatch': AuditedRefusal
  /** One that came to another browser than the one in which the button was pressed. */
  'callback.flow_cookie_missing': AuditedRefusal
  /** One that is from another issuer, or does not say which. */
  'callback.iss_mismatch': AuditedRefusal
  /** One that came to a browser in which nobody is signed in, any more or at all. */
  'callback.session_missing': AuditedRefusal
  /** One that holds no code, or two. */
  'callback.response_invalid': AuditedRefusal
  /** A form that is not from a page of ours, shown to this user in this browser for this action. */
  'csrf.failed': AuditedRefusal
  /** Any other request that was turned down. */
  'request.refused': AuditedRefusal
  /** A request that a provider, the store or a mistake has failed, also one of yours. */
  'request.failed': AuditedRefusal

  /** An authorization code is about to be redeemed; one of `exchange.stored`, `refused`, `undecided` and `orphan_possible` follows, unless the process is killed. */
  'exchange.started': AuditedAttempt
  /** Its grant is in the vault. */
  'exchange.stored': AuditedAttempt
  /** The provider has given nothing. */
  'exchange.refused': AuditedAttempt
  /** It is of another account than the one that was to be renewed: the user is asked, and nothing is stored before. */
  'exchange.undecided': AuditedAttempt
  /** The user has said what becomes of it. */
  'account.decided': AuditedAttempt & { readonly choice: 'replace' | 'add' | 'discard' }
  /** The provider may list a grant that is not stored here. */
  'exchange.orphan_possible': AuditedAttempt

  /** A handler has received a connection. */
  'vault.read': AuditedConnection
  /** A grant was stored. */
  'vault.written': AuditedConnection
  /** A connection, or an account of it, was deleted: it was disconnected, or another attempt has won. */
  'vault.deleted': AuditedConnection
  /** A grant cannot be opened: it was changed or moved, or the key with this id is not in `keys`. */
  'vault.decrypt_failed': AuditedConnection & { readonly keyId: string }
  /** A grant was sealed anew with the newest key. Whose provider it is of is not known. */
  'vault.resealed': { readonly principal: string }

  /** An access token was refreshed. */
  'refresh.ok': AuditedConnection
  /** One was, or could not be, after somebody else had changed the grant: what they stored stands. */
  'refresh.lost_race': AuditedConnection
  /** The provider has said that the grant is gone for good; the user is asked again. */
  'refresh.invalid_grant': AuditedConnection
  /** One could not be refreshed; the grant stays as it is. */
  'refresh.failed': AuditedConnection & { readonly failure: RefreshFailure }
  /** One was refreshed and could not be stored: where refresh tokens are used once, the grant is lost. */
  'refresh.unsaved': AuditedConnection

  /** The provider has ended a grant that was deleted here, or was not stored. */
  'revocation.done': AuditedConnection
  /** It could not be told yet: it is told again. */
  'revocation.postponed': AuditedConnection
  /** It was not told, since the same account is connected by another grant, which might end with it. */
  'revocation.spared': AuditedConnection
  /** It is not told, or not any longer: it may still list the grant. */
  'revocation.failed': AuditedConnection & { readonly cause: RevocationFailure }

  /** A guarded handler did not run, and its caller was sent a text and no link. */
  'guard.blocked': Partial<AuditIds> & { readonly reason: BlockReason, readonly providers: readonly string[] }
  /** The first request or link that was too many, in each window. */
  'ratelimit.hit': Partial<AuditIds> & { readonly limit: 'address' | 'principal' | 'elicitations', readonly client?: string }

  /** Somebody has signed in by `oidcLogin`. */
  'session.started': AuditIds
  /** Somebody has signed out, or in anew. */
  'session.ended': AuditIds
  /** All sessions of somebody were ended. */
  'session.revoked': AuditIds
  /** An answer of the authorization server that has signed nobody in; where it gives none, or an error, that is `request.failed`. */
  'session.refused': Partial<AuditIds> & { readonly code: string }
}

export type AuditEventName = keyof AuditEvents

/** Those of requests that were turned down, of which no more is told. */
export type RefusalEventName = { [N in AuditEventName]: AuditedRefusal extends AuditEvents[N] ? N : never }[AuditEventName]

/** One event, with when it was, in epoch milliseconds. */
export type AuditEvent = { [N in AuditEventName]: { readonly event: N, readonly at: number } & AuditEvents[N] }[AuditEventName]

/** What an operator reads beside the event, in the log alone. */
export interface AuditDetails {
  /** The logger of the request, where there is one. */
  readonly log?: FastifyBaseLogger
  readonly [detail: string]: unknown
}

/** Tells an event. Never fails. */
export type Audit = <N extends AuditEventName>(event: N, facts: AuditEvents[N], details?: AuditDetails) => void
