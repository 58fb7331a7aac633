import { html } from 'ghtml'
import type { FormView } from '../forms.js'
import { accountText, button, layout, scopeList, type AccountView } from './layout.js'

export interface ConnectionView {
  readonly key: string
  readonly name: string
  readonly host: string
  readonly status:
    | { readonly kind: 'none' | 'unreadable' | 'foreign' }
    | { readonly kind: 'connected' | 'expired', readonly since: number, readonly account: string | undefined, readonly scopes: readonly string[] }
  /** `null` when the user may not connect. */
  readonly connect: FormView | null
  readonly disconnect: FormView
}

/** The user's connections at all providers. */
export function connectionsPage ({ server, account, signOut, connections }:
{ server: string, account: AccountView, signOut: FormView | null, connections: readonly ConnectionView[] }): string {
  return layout({
    title: `Your connections at ${server}`,
    content: html`<p>Signed in as !${accountText(account)}.</p>
!${signOut === null ? '' : button(signOut, 'Sign out')}
!${connections.length === 0 ? '<p>There is nothing for you to connect here.</p>' : connections.map(connectionSection).join('\n')}`
  })
}

function connectionSection ({ key, name, host, status, connect, disconnect }: ConnectionView): string {
  const exists = status.kind !== 'none'
  const label = exists ? `Connect ${name} again` : `Connect ${name}`
  return html`<section aria-labelledby="provider-${key}">
<h2 id="provider-${key}">${name}</h2>
<p class="note">${host}</p>
<p>!${statusText(status)}</p>
!${connect === null ? '' : button(connect, label, status.kind === 'connected' ? 'plain' : 'main')}
!${exists ? button(disconnect, `Disconnect ${name}`) : ''}
!${exists ? html`<p class="note">Disconnecting deletes what is stored here. To end this server's access at ${name} too, remove it in your settings there.</p>` : ''}
</section>`
}

function statusText (status: ConnectionView['status']): string {
  switch (status.kind) {
    case 'none': return 'Not connected.'
    case 'unreadable': return 'Connected, but what is stored can no longer be read. Connect it again.'
    case 'foreign': return 'Connected, but this server has changed where it asks for access since. Connect it again.'
    case 'connected': return `${connectedSince(status)}.`
    case 'expired': return `${connectedSince(status)}, but the access has expired. Connect it again.`
  }
}

function connectedSince ({ since, account, scopes }: ConnectionView['status'] & { kind: 'connected' | 'expired' }): string {
  const date = new Date(since).toISOString().slice(0, 10)
  const permissions = scopes.length === 0 ? '' : html`, with !${scopeList(scopes)}`
  const as = account === undefined ? '' : html` as <strong>${account}</strong>`
  return html`Connected!${as} since <time datetime="${date}">${date}</time>!${permissions}`
}
