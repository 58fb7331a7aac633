import { html } from 'ghtml'

/** How pages of one site look, so that people see whose page they are on. */
export interface Site {
  readonly name: string
  readonly color: string
}

/** Headers for every page: nothing from elsewhere, no scripts, no frames, no copies. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store'
} as const

const style = (color: string) => `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem; color: #1c1c1c }
  header { border-bottom: 4px solid ${color}; font-weight: 700; padding-bottom: .25rem }
  label, input { display: block; width: 100%; box-sizing: border-box }
  input { font: inherit; padding: .5rem; margin-bottom: 1rem }
  button { font: inherit; padding: .5rem 1rem; margin-right: .5rem }
  .problem { color: #a40000 }`

/**
 * One whole page.
 * @param content markup; made with `html` of ghtml, so that what goes into it is escaped
 */
export function page (site: Site, title: string, content: string): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} - ${site.name}</title>
<style>!${style(site.color)}</style>
</head>
<body>
<header>${site.name}</header>
<h1>${title}</h1>
!${content}
</body>
</html>`
}
