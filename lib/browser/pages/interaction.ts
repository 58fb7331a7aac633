import { html } from 'ghtml'
import type { FormView } from '../forms.js'
import { accountText, button, layout, scopeList, type AccountView } from './layout.js'

export interface InteractionView {
  /** This server, as it is named to people, and its host. */
  readonly server: { readonly name: string, readonly host: string }
  /** What the MCP client calls itself; `null` when it has no name, or the user began on the connections page. */
  readonly client: string | null
  readonly provider: { readonly name: string, readonly host: string }
  readonly reasons: readonly string[]
  readonly scopes: readonly string[]
  /** Which account there, where one is meant. */
  readonly upstream: string | undefined
  /** The signed-in account. */
  readonly account: AccountView
  /** Epoch milliseconds. */
  readonly expiresAt: number
  readonly goOn: FormView
  readonly decline: FormView
}

/** Who asks, why, for what, at whom, for which account, until when. */
export function interactionPage ({ server, client, provider, reasons, scopes, upstream, account, expiresAt, goOn, decline }: InteractionView): string {
  const place = server.name === server.host ? '' : ` at ${server.host}`
  return layout({
    title: `Connect ${provider.name} to ${server.name}?`,
    content: html`<dl>
<dt>Who asks</dt><dd>${server.name}${place}!${client === null ? '' : html`, for a client that calls itself “${client}”`}</dd>
!${reasons.length === 0 ? '' : html`<dt>Why</dt><dd>!${reasons.map(reason => html`${reason}`).join('<br>')}</dd>`}
<dt>Connects to</dt><dd>${provider.name} at <strong>${provider.host}</strong></dd>
!${upstream === undefined ? '' : html`<dt>Account there</dt><dd>${upstream}</dd>`}
<dt>Permissions</dt><dd>!${scopes.length === 0 ? html`what ${provider.name} grants by default` : scopeList(scopes)}</dd>
<dt>Your account here</dt><dd>!${accountText(account)}</dd>
<dt>Link valid for</dt><dd>!${timeLeft(expiresAt)}</dd>
</dl>
<p>Continue only if you started this yourself just now. If somebody sent you this link, decline.</p>
!${button(goOn, `Continue to ${provider.name}`, 'main')}
!${button(decline, 'Decline')}
<p class="note">You sign in at ${provider.name} itself. What it grants is stored here, encrypted, for your account only; the client never sees it.</p>`
  })
}

function timeLeft (expiresAt: number): string {
  const until = new Date(expiresAt).toISOString()
  const minutes = Math.max(1, Math.round((expiresAt - Date.now()) / 60_000))
  const duration = minutes < 120 ? `${minutes} minute${minutes === 1 ? '' : 's'}` : `${Math.round(minutes / 60)} hours`
  return html`${duration} (until <time datetime="${until}">${until.slice(0, 10)} ${until.slice(11, 16)} UTC</time>)`
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

interface Completed {
  readonly provider: string
  readonly server: string
  /** The account here. */
  readonly account: string
  /** The account at the provider, if it has told. */
  readonly upstream: string | undefined
  readonly connections: string
}

/** The good end. */
export function completedPage ({ provider, server, account, upstream, connections }: Completed): string {
  return layout({
    title: `${provider} is connected`,
    content: html`<p>${server} can now use ${provider} for <strong>${account}</strong>.!${upstream === undefined ? '' : html` The account there is <strong>${upstream}</strong>: if it is not yours, disconnect it.`}</p>
<p>You can close this page and go back to where you came from. If nothing happens there, ask again.</p>
<p><a class="button" href="${connections}">See your connections</a></p>`
  })
}

/** Declined on our page, or at the provider. */
export function declinedPage ({ provider, connections }: { provider: string, connections: string }): string {
  return layout({
    title: 'Declined',
    content: html`<p>Connecting ${provider} was declined, by you or by ${provider}. Nothing was changed. You can close this page.</p>
<p><a class="button" href="${connections}">See your connections</a></p>`
  })
}
