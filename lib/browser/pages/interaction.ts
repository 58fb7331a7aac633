import { html } from 'ghtml'
import { button, layout } from './layout.js'

export interface InteractionView {
  /** This server, as it is named to people, and its host. */
  readonly server: { readonly name: string, readonly host: string }
  /** What the MCP client calls itself; `null` when it has no name, or the user began on the connections page. */
  readonly client: string | null
  readonly provider: { readonly name: string, readonly host: string }
  readonly reason: string | undefined
  readonly scopes: readonly string[]
  /** The signed-in account. */
  readonly account: string
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly goOn: { readonly action: string, readonly csrf: string }
  readonly decline: { readonly action: string, readonly csrf: string }
}

/** Who asks, why, for what, at whom, for which account, until when. */
export function interactionPage (view: InteractionView): string {
  const { server, client, provider, reason, scopes, account, expiresAt } = view
  const until = new Date(expiresAt)
  const title = `Connect ${provider.name} to ${server.name}?`
  return layout({
    title,
    content: html`<dl>
<dt>Who asks</dt><dd>${server.name} at ${server.host}!${client === null ? '' : html`, for a client that calls itself “${client}”`}</dd>
!${reason === undefined ? '' : html`<dt>Why</dt><dd>${reason}</dd>`}
<dt>Connects to</dt><dd>${provider.name} at <strong>${provider.host}</strong></dd>
<dt>Permissions</dt><dd>!${scopes.length === 0 ? 'What your registration there allows' : scopes.map(scope => html`<code>${scope}</code>`).join(', ')}</dd>
<dt>Your account here</dt><dd><strong>${account}</strong></dd>
<dt>Time left</dt><dd>until <time datetime="${until.toISOString()}">${until.toISOString().slice(11, 16)} UTC</time></dd>
</dl>
<p>Go on only if you asked for this yourself, just now. If somebody sent you this link, decline.</p>
!${button({ ...view.goOn, label: `Continue to ${provider.name}`, main: true })}
!${button({ ...view.decline, label: 'Decline' })}
<p class="note">You sign in at ${provider.name} itself. What it grants is stored here, encrypted, for your account alone; the client never sees it.</p>`
  })
}

/** Leads on to the provider: a page and not a redirect, since browsers apply `form-action` to redirects of a form. */
export function leavingPage ({ provider, url }: { provider: string, url: URL }): string {
  return layout({
    title: `Continue to ${provider}`,
    redirect: url.href,
    content: html`<p>You are being taken to <strong>${url.host}</strong>.</p>
<p><a class="button main" href="${url.href}">Continue to ${provider}</a></p>`
  })
}

/** The good end. */
export function completedPage ({ provider, server, account, connections }: { provider: string, server: string, account: string, connections: string }): string {
  return layout({
    title: `${provider} is connected`,
    content: html`<p>${server} can now use ${provider} for <strong>${account}</strong>.</p>
<p>You can close this page and go back to where you came from. If nothing happens there, ask again.</p>
<p><a class="button" href="${connections}">See your connections</a></p>`
  })
}

/** The user said no, here or at the provider. */
export function declinedPage ({ provider, connections }: { provider: string, connections: string }): string {
  return layout({
    title: 'Declined',
    content: html`<p>${provider} was not connected, and nothing was stored. You can close this page.</p>
<p><a class="button" href="${connections}">See your connections</a></p>`
  })
}
