import { html } from 'ghtml'
import { layout } from './layout.js'

/** How an unsuccessful end is told to people, and what they can do next. */
export interface Ending {
  readonly title: string
  readonly text: string
  readonly way: 'retry' | 'look again' | 'sign in' | 'connections'
}

/** By error code. What a request or a provider sent stands in none of them. */
const ENDINGS: Readonly<Record<string, Ending>> = {
  SIGN_IN_REQUIRED: { title: 'Sign in first', text: 'Sign in to this server in this browser, then start again.', way: 'sign in' },
  SUBJECT_MISMATCH: { title: 'This link is for another account', text: 'You are signed in with a different account from the one that asked. If both are yours, sign in with the other one and open the link again. If somebody sent you this link, close this page: nothing was changed.', way: 'sign in' },
  SESSION_LOST: { title: 'You are no longer signed in', text: 'Nothing was connected. Start again: you are asked to sign in, if need be. If you come back here each time, tell the operator of this server.', way: 'retry' },
  SIGN_IN_INVALID: { title: 'This sign-in could not be matched', text: 'It was not started in this browser, or too long ago, or it could not be read. Nobody was signed in by it. Sign in again.', way: 'sign in' },
  SIGN_IN_DECLINED: { title: 'Nobody was signed in', text: 'You refused to sign in, or your account is not let in here. Sign in to go on; otherwise close this page.', way: 'sign in' },
  SIGN_IN_FAILED: { title: 'Signing in did not work', text: 'Try again. If it happens again, tell the operator of this server.', way: 'sign in' },
  FLOW_COOKIE_MISSING: { title: 'This was started in another browser', text: 'The connection must be finished in the browser in which it was started, with cookies allowed. If you did not start it, close this page: nothing was connected.', way: 'connections' },
  COOKIE_INVALID: { title: 'Your browser sent something unexpected', text: 'A cookie of this server was sent twice. Delete the cookies of this site, then start again.', way: 'connections' },
  CSRF_FAILED: { title: 'This form has expired', text: 'The form was open for too long, or what it asks for has changed, or it did not come from this server. Nothing was changed. Open the page again.', way: 'retry' },
  ORIGIN_MISMATCH: { title: 'This form came from another address', text: 'Nothing was changed. If you came here by a link of this server, tell its operator.', way: 'retry' },
  FORM_INVALID: { title: 'This form is not one of ours', text: 'Nothing was changed. Open the page again.', way: 'retry' },
  NAVIGATION_REQUIRED: { title: 'This must be opened by itself', text: 'Your browser loaded this in advance, or inside of another page. Nothing was connected.', way: 'connections' },
  NOT_AUTHORIZED: { title: 'Not allowed', text: 'Your account may not connect this provider here. Ask the operator of this server.', way: 'connections' },
  NOT_FOUND: { title: 'Nothing here', text: 'The link is wrong or too old. Ask for a new one, or connect on your connections page.', way: 'connections' },
  METHOD_NOT_ALLOWED: { title: 'Nothing here', text: 'This address cannot be opened that way.', way: 'connections' },
  EXPIRED: { title: 'This link has expired', text: 'It was valid for a short time only. Ask again in your client, or connect on your connections page.', way: 'connections' },
  CONSUMED: { title: 'This is finished', text: 'This link has been used already. Your connections page shows the current state.', way: 'connections' },
  HELD: { title: 'This is being finished', text: 'Another tab of yours is finishing this. Wait half a minute, then look again.', way: 'look again' },
  DISCONNECTED: { title: 'You have disconnected this', text: 'You disconnected it while this was under way, so it was not connected. The provider may still list this server in your settings there. Start again if you want it after all.', way: 'retry' },
  RATE_LIMITED: { title: 'Too many requests', text: 'Wait a moment, then open the page again.', way: 'retry' },
  STATE_INVALID: { title: 'This could not be matched', text: 'The answer belongs to nothing that was started here, or it is too old. Nothing was connected. Start again.', way: 'connections' },
  CONTEXT_MISMATCH: { title: 'This could not be matched', text: 'The answer belongs to another provider. Nothing was connected. Start again.', way: 'connections' },
  ISS_MISMATCH: { title: 'This could not be matched', text: 'The answer did not come from the provider that you were sent to. Nothing was connected. Start again.', way: 'retry' },
  RESPONSE_INVALID: { title: 'This could not be read', text: 'The provider\'s answer was incomplete. Nothing was connected. Start again.', way: 'retry' },
  PROVIDER_REFUSED: { title: 'The provider refused', text: 'The provider ended this without connecting. Start again; if it happens again, tell the operator of this server.', way: 'retry' },
  SCOPE_REFUSED: { title: 'The provider refused', text: 'The provider does not give a permission that was asked for. Disconnect it on your connections page if you are connected, then connect it again; if this happens again, tell the operator of this server.', way: 'connections' },
  EXCHANGE_FAILED: { title: 'The provider did not answer as it should', text: 'You allowed it, but the connection could not be finished. Start again; if it happens again, tell the operator of this server.', way: 'retry' },
  PROVIDER_UNAVAILABLE: { title: 'The provider cannot be reached', text: 'Try again in a few minutes.', way: 'retry' },
  PROVIDER_MISCONFIGURED: { title: 'This provider is not set up correctly here', text: 'Only the operator of this server can fix that. Tell them; the log says what is wrong.', way: 'connections' }
}

/** Fastify's refusals, and those of the host application, such as its rate limiter's. */
const BY_STATUS: Readonly<Record<number, Ending>> = {
  401: { title: 'Sign in first', text: 'Sign in to this server in this browser, then start again.', way: 'sign in' },
  403: { title: 'Not allowed', text: 'This server does not let you in here. Ask its operator.', way: 'connections' },
  413: { title: 'Too large', text: 'What was sent is larger than this page takes.', way: 'retry' },
  415: { title: 'This form is not one of ours', text: 'Nothing was changed. Open the page again.', way: 'retry' },
  429: { title: 'Too many requests', text: 'Wait a moment, then open the page again.', way: 'retry' },
  503: { title: 'Not available at the moment', text: 'Try again in a few minutes.', way: 'retry' }
}

const FAILURE: Ending = { title: 'Something went wrong', text: 'This server made a mistake. Its operator can find the reason in the log. Try again in a few minutes.', way: 'retry' }
const REFUSAL: Ending = { title: 'This could not be read', text: 'Nothing was changed. Open the page again.', way: 'retry' }

export function endingOf (code: string, status: number): Ending {
  return (Object.hasOwn(ENDINGS, code) ? ENDINGS[code] : BY_STATUS[status]) ?? (status < 500 ? REFUSAL : FAILURE)
}

/** @param account the signed-in account, where that is the point */
export function endingPage ({ title, text }: Ending, next: { readonly label: string, readonly url: string }, account?: string): string {
  return layout({
    title,
    content: html`!${account === undefined ? '' : html`<p>Signed in as <strong>${account}</strong>.</p>`}
<p>${text}</p>
<p><a class="button main" href="${next.url}">${next.label}</a></p>`
  })
}
