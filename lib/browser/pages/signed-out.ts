import { html } from 'ghtml'
import { layout } from './layout.js'

/** After signing out. The authorization server has a session of its own, which is not this server's to end. */
export function signedOutPage ({ server, host, connections }: { server: string, host: string, connections: string }): string {
  return layout({
    title: `Signed out of ${server}`,
    content: html`<p>You may still be signed in at <strong>${host}</strong>: on a computer that others use, sign out there too.</p>
<p><a class="button" href="${connections}">Sign in again</a></p>`
  })
}
