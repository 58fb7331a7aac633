import { html } from 'ghtml'
import { plainText } from '../../plain-text.js'
import type { Account } from '../../types.js'
import type { FormView } from '../forms.js'
import { accountText, button, layout, type AccountView } from './layout.js'

/** What a user can do with a grant of another account than the one that is connected. */
export const CHOICES = ['replace', 'add', 'discard'] as const
export type Choice = typeof CHOICES[number]

export interface AccountChoiceView {
  readonly provider: string
  /** The signed-in account. */
  readonly account: AccountView
  /** The one that is connected; `null` when that is not known, or gone. */
  readonly connected: Account | null
  /** The one that was signed in with there; `null` when the provider has not said. */
  readonly granted: Account | null
  readonly choices: ReadonlyArray<{ readonly choice: Choice, readonly form: FormView }>
}

/** Which account shall it be? */
export function accountPage ({ provider, account, connected, granted, choices }: AccountChoiceView): string {
  const old = connected === null ? 'the account that is connected' : nameOf(connected)
  const other = granted === null ? 'an account that it does not name' : nameOf(granted)
  const labels: Record<Choice, string> = { replace: `Use ${other} instead of ${old}`, add: `Keep ${old}, and add ${other}`, discard: `Keep ${old} only` }
  return layout({
    title: `Another account at ${provider}`,
    content: html`<dl>
<dt>Connected until now</dt><dd><strong>${old}</strong></dd>
<dt>You signed in there as</dt><dd><strong>${other}</strong></dd>
<dt>Your account here</dt><dd>!${accountText(account)}</dd>
</dl>
<p>Nothing has changed yet. Which account shall be used?</p>
!${choices.map(({ choice, form }) => button(form, labels[choice])).join('\n')}`
  })
}

function nameOf ({ subject, label = plainText(subject, 100) }: Account): string {
  return label
}
