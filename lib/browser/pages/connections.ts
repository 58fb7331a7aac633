import { html } from 'ghtml'
import type { AtProvider } from '../../account.js'
import type { FormView } from '../forms.js'
import { accountText, button, layout, scopeList, type AccountView } from './layout.js'

export interface ConnectionView {
  readonly key: string
  readonly name: string
  readonly host: string
  readonly status: 'none' | 'unreadable' | 'foreign' | 'connected' | 'unavailable'
  readonly accounts: ReadonlyArray<AccountStatus & {
    /** One of several is what is used when none is named. */
    readonly isDefault: boolean
    /** `null` when the user may not connect. */
    readonly connect: FormView | null
    /** `null` when it is. */
    readonly makeDefault: FormView | null
    readonly disconnect: FormView
  }>
  /** Each `null` when that cannot be done. */
  readonly connect: FormView | null
  readonly add: FormView | null
  readonly disconnect: FormView | null
}

export interface AccountStatus {
  /** What it is called at the provider, if that is known. */
  readonly name: string | undefined
  /** Epoch milliseconds. */
  readonly since: number
  readonly scopes: readonly string[]
  /** It can be used no longer. */
  readonly hasEnded: boolean
}

/** What became of a connection that was ended just now. */
export interface EndedView {
  /** The provider. */
  readonly name: string
  readonly atProvider: AtProvider
}

/** The user's connections at all providers. */
export function connectionsPage ({ server, account, signOut, notice, connections }:
{ server: string, account: AccountView, signOut: FormView | null, notice: EndedView | null, connections: readonly ConnectionView[] }): string {
  return layout({
    title: `Your connections at ${server}`,
    content: html`!${notice === null ? '' : html`<p role="status">${endedText(notice)}</p>`}
<p>Signed in as !${accountText(account)}.</p>
!${signOut === null ? '' : button(signOut, 'Sign out')}
!${connections.length === 0 ? '<p>There is nothing for you to connect here.</p>' : connections.map(connectionSection).join('\n')}`
  })
}

function connectionSection ({ key, name, host, status, accounts, connect, add, disconnect }: ConnectionView): string {
  const exists = status !== 'none' && status !== 'unavailable'
  return html`<section aria-labelledby="provider-${key}">
<h2 id="provider-${key}">${name}</h2>
<p class="note">${host}</p>
!${status === 'connected' ? '' : html`<p>${PROBLEMS[status]}</p>`}
!${accounts.map(account => accountEntry(name, account, accounts.length > 1)).join('\n')}
!${connect === null ? '' : button(connect, exists ? `Connect ${name} again` : `Connect ${name}`, 'main')}
!${add === null ? '' : button(add, `Add another ${name} account`)}
!${exists && disconnect !== null ? button(disconnect, accounts.length > 1 ? `Disconnect all of ${name}` : `Disconnect ${name}`) : ''}
!${exists ? html`<p class="note">Disconnecting deletes what is stored here, and has ${name} end this server's access there. You are told if that cannot be done.</p>` : ''}
</section>`
}

type Account = ConnectionView['accounts'][number]

/** @param isOneOfSeveral its buttons then say whose they are */
function accountEntry (provider: string, account: Account, isOneOfSeveral: boolean): string {
  const { name, hasEnded, isDefault, connect, makeDefault, disconnect } = account
  const what = isOneOfSeveral && name !== undefined ? `${name} at ${provider}` : provider
  return html`<p>!${connectedSince(account)}!${hasEnded ? ', but the access has expired. Connect it again.' : '.'}!${isDefault ? ' It is used when no other one is named.' : ''}</p>
!${connect === null ? '' : button(connect, `Connect ${what} again`, hasEnded ? 'main' : 'plain')}
!${makeDefault === null ? '' : button(makeDefault, `Use ${what} by default`)}
!${button(disconnect, `Disconnect ${what}`)}`
}

function endedText ({ name, atProvider }: EndedView): string {
  const deleted = 'Disconnected: what was stored here is deleted.'
  switch (atProvider) {
    case 'revoked': return `${deleted} This server's access at ${name} has ended, too.`
    case 'later': return `${deleted} ${name} could not be reached to end this server's access there, and will be tried again.`
    case 'spared': return `${deleted} This server's access at ${name} was left as it is there, since another connection of yours may need it.`
    default: return `${deleted} This server cannot end its access at ${name} by itself: remove it in your settings there.`
  }
}

const PROBLEMS = {
  none: 'Not connected.',
  unreadable: 'Connected, but what is stored can no longer be read. Connect it again.',
  unavailable: 'It cannot be looked up just now. Try again in a few minutes.',
  foreign: 'Connected, but this server has changed where it asks for access since. Connect it again.'
}

function connectedSince ({ name, since, scopes }: AccountStatus): string {
  const date = new Date(since).toISOString().slice(0, 10)
  const permissions = scopes.length === 0 ? '' : html`, with !${scopeList(scopes)}`
  const as = name === undefined ? '' : html` as <strong>${name}</strong>`
  return html`Connected!${as} since <time datetime="${date}">${date}</time>!${permissions}`
}
