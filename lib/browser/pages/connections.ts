import { html } from 'ghtml'
import { button, layout } from './layout.js'

export interface ConnectionView {
  readonly name: string
  readonly host: string
  /** `null` when not connected. */
  readonly connected: { readonly since: number, readonly scopes: readonly string[], readonly expired: boolean } | null
  readonly connect: { readonly action: string, readonly csrf: string }
  readonly disconnect: { readonly action: string, readonly csrf: string }
}

/** The user's connections at all providers. */
export function connectionsPage ({ server, account, connections }:
{ server: string, account: string, connections: readonly ConnectionView[] }): string {
  return layout({
    title: `Your connections at ${server}`,
    content: html`<p>Signed in as <strong>${account}</strong>.</p>
!${connections.length === 0 ? '<p>This server has no providers to connect.</p>' : connections.map(connectionSection).join('\n')}`
  })
}

function connectionSection ({ name, host, connected, connect, disconnect }: ConnectionView): string {
  return html`<section>
<h2>${name}</h2>
<p class="note">${host}</p>
<p>!${connected === null ? 'Not connected.' : connectedText(connected)}</p>
!${button({ ...connect, label: connected === null ? `Connect ${name}` : `Connect ${name} again`, main: connected === null || connected.expired })}
!${connected === null ? '' : button({ ...disconnect, label: `Disconnect ${name}` })}
!${connected === null ? '' : html`<p class="note">Disconnecting deletes what is stored here. To end this server's access at ${name} too, remove it in your settings there.</p>`}
</section>`
}

function connectedText ({ since, scopes, expired }: NonNullable<ConnectionView['connected']>): string {
  const date = new Date(since).toISOString().slice(0, 10)
  const permissions = scopes.length === 0 ? '' : html`, with !${scopes.map(scope => html`<code>${scope}</code>`).join(', ')}`
  return html`${expired ? 'The access has expired; connect it again. Connected' : 'Connected'} since <time datetime="${date}">${date}</time>!${permissions}.`
}
