import { html } from 'ghtml'
import { layout } from './layout.js'

interface Outcome {
  readonly title: string
  readonly text: string
}

/** What people read, by error code. What a request or a provider sent stands in none of them. */
const OUTCOMES: Readonly<Record<string, Outcome>> = {
  SIGN_IN_REQUIRED: { title: 'Sign in first', text: 'Sign in to this server in this browser; then open the link again.' },
  SUBJECT_MISMATCH: { title: 'This link is for another account', text: 'You are signed in with another account than the one that asked. If it was you, sign in with that account and open the link again. If somebody sent you this link, close this page: nothing was changed.' },
  FLOW_COOKIE_MISSING: { title: 'This was started in another browser', text: 'The connection has to be finished in the browser in which it was started, with cookies allowed. If you did not start it, close this page: nothing was connected.' },
  COOKIE_INVALID: { title: 'Your browser sent something unexpected', text: 'A cookie of this server is there twice. Delete the cookies of this site, then start again.' },
  CSRF_FAILED: { title: 'This page was too old', text: 'The form was open for too long, or did not come from this server. Nothing was changed. Open the page again.' },
  FORM_INVALID: { title: 'This form is not one of ours', text: 'Nothing was changed. Open the page again.' },
  NOT_AUTHORIZED: { title: 'Not allowed', text: 'Your account may not connect this provider here. Ask the operator of this server.' },
  NOT_FOUND: { title: 'Nothing here', text: 'The link is wrong, or it is too old. Ask for a new one, or connect on your connections page.' },
  METHOD_NOT_ALLOWED: { title: 'Nothing here', text: 'This address cannot be opened that way.' },
  EXPIRED: { title: 'The time is over', text: 'This link was valid for a short time only. Ask again in your client, or connect on your connections page.' },
  CONSUMED: { title: 'This is finished', text: 'This link was used already. Your connections page shows how things stand.' },
  STATE_INVALID: { title: 'This could not be matched', text: 'The answer belongs to nothing that was started here, or it is too old. Nothing was connected. Start again.' },
  CONTEXT_MISMATCH: { title: 'This could not be matched', text: 'The answer belongs to another provider. Nothing was connected. Start again.' },
  ISS_MISMATCH: { title: 'This could not be matched', text: 'The answer did not come from the provider that you were sent to. Nothing was connected. Start again.' },
  RESPONSE_INVALID: { title: 'This could not be read', text: 'The provider\'s answer was incomplete. Nothing was connected. Start again.' },
  PROVIDER_REFUSED: { title: 'The provider refused', text: 'The provider ended this without connecting. Start again; if it happens again, tell the operator of this server.' },
  EXCHANGE_FAILED: { title: 'The provider did not answer as it should', text: 'You allowed it, but the connection could not be finished. Start again; if it happens again, tell the operator of this server.' },
  PROVIDER_UNAVAILABLE: { title: 'The provider cannot be reached', text: 'Try again in a few minutes.' }
}

const BY_STATUS: Readonly<Record<number, Outcome>> = {
  413: { title: 'Too large', text: 'What was sent is larger than this page takes.' },
  415: { title: 'This form is not one of ours', text: 'Nothing was changed. Open the page again.' }
}

const FAILURE: Outcome = { title: 'Something went wrong', text: 'It is the fault of this server, and its operator finds the reason in the log. Try again in a few minutes.' }
const REFUSAL: Outcome = { title: 'This could not be read', text: 'Nothing was changed. Open the page again.' }

/** A page for an end without success. It always has a way on. */
export function outcomePage ({ code, status, next }: { code: string, status: number, next: { readonly label: string, readonly url: string } }): string {
  const { title, text } = OUTCOMES[code] ?? BY_STATUS[status] ?? (status < 500 ? REFUSAL : FAILURE)
  return layout({
    title,
    content: html`<p>${text}</p>
<p><a class="button main" href="${next.url}">${next.label}</a></p>`
  })
}
