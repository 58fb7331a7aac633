import { html } from 'ghtml'
import type { FormView } from '../forms.js'

export const STYLE = `
:root { color-scheme: light dark; --text: #1a1c20; --soft: #565c68; --line: #d5d9e0; --card: #fff; --back: #f3f4f7; --main: #1f4fd8; --on-main: #fff }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaef; --soft: #a7aebb; --line: #3b404b; --card: #1e2127; --back: #15171b; --main: #8fb0ff; --on-main: #10131a } }
* { box-sizing: border-box }
body { margin: 0; padding: 1.5rem 1rem; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--back) }
main { max-width: 34rem; margin: 0 auto; padding: 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere }
h2 { margin: 0; font-size: 1.1rem }
p { margin: 0 0 1rem; overflow-wrap: anywhere }
dl { margin: 0 0 1.25rem; display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .5rem 1rem }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
section { padding: 1rem 0; border-top: 1px solid var(--line) }
form { display: inline-block; margin: 0 .5rem .5rem 0 }
button, .button { display: inline-block; padding: .6rem 1.1rem; font: inherit; font-weight: 600; color: var(--text); background: none; border: 1px solid var(--soft); border-radius: .5rem; text-decoration: none; cursor: pointer }
.main { color: var(--on-main); background: var(--main); border-color: var(--main) }
.note { color: var(--soft); font-size: .9rem }
a { color: var(--main) }
:focus-visible { outline: 3px solid var(--main); outline-offset: 2px }
@media (max-width: 30rem) { main { padding: 1.25rem } dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .6rem } }
`

/**
 * A whole page.
 * @param content HTML; whatever was put into it is escaped already
 * @param redirect an address to go on to by itself
 */
export function layout ({ title, content, redirect }: { title: string, content: string, redirect?: string }): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
!${redirect === undefined ? '' : html`<meta http-equiv="refresh" content="0;url=${redirect}">`}
<title>${title}</title>
<style>!${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
!${content}
</main>
</body>
</html>
`
}

/** The signed-in account. */
export interface AccountView {
  readonly label: string
  /** Where to sign in with another one; `null` when nobody says. */
  readonly switchUrl: string | null
}

export function accountText ({ label, switchUrl }: AccountView): string {
  return html`<strong>${label}</strong>!${switchUrl === null ? '' : html` (<a href="${switchUrl}">use another account</a>)`}`
}

/** A form of one button. */
export function button ({ action, csrf }: FormView, label: string, kind: 'main' | 'plain' = 'plain'): string {
  return html`<form method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}"><button type="submit"!${kind === 'main' ? ' class="main"' : ''}>${label}</button></form>`
}

/** Scopes, as the provider calls them. */
export function scopeList (scopes: readonly string[]): string {
  return scopes.map(scope => html`<code>${scope}</code>`).join(', ')
}
