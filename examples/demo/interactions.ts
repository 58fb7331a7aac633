import { html } from 'ghtml'
import type Provider from 'oidc-provider'
import type { Person } from './people.js'
import { page, pageHeaders, type Site } from './page.js'

type Middleware = Parameters<Provider['use']>[0]
type Context = Parameters<Middleware>[0]
type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>

export interface InteractionOptions {
  readonly site: Site
  readonly people: readonly Person[]
  /** What each scope allows, to the person who consents: `read your issues`. */
  readonly scopes: Readonly<Record<string, string>>
}

/**
 * The sign-in page and the consent page of an authorization server, for oidc-provider's `interactions.url`.
 * Signing in takes the login name alone: these accounts are for show.
 */
export function interactionPages (provider: Provider, options: InteractionOptions): Middleware {
  return async (ctx, next) => {
    if (!/^\/interaction\/[\w-]+$/.test(ctx.path)) return await next()
    ctx.set(pageHeaders)
    let interaction: Interaction
    try {
      interaction = await provider.interactionDetails(ctx.req, ctx.res)
    } catch {
      ctx.status = 400
      ctx.body = page(options.site, 'This page has expired', html`<p>Please start again from where you came from.</p>`)
      return
    }
    const form = ctx.method === 'POST' ? await readForm(ctx) : undefined
    const step = interaction.prompt.name === 'login' ? signIn : consent
    await step(ctx, provider, interaction, form, options)
  }
}

async function signIn (ctx: Context, provider: Provider, interaction: Interaction, form: URLSearchParams | undefined, options: InteractionOptions) {
  const { site, people } = options
  const person = people.find(({ login }) => login === form?.get('login'))
  if (person != null) {
    return await goOn(ctx, provider, { login: { accountId: person.subject } })
  }
  ctx.status = form == null ? 200 : 422
  ctx.body = page(site, `Sign in to ${site.name}`, html`
<form method="post">
!${form == null ? '' : html`<p class="problem">There is no such account at ${site.name}.</p>`}
<label for="login">Your ${site.name} account</label>
<input id="login" name="login" autocomplete="username" required autofocus>
<button type="submit">Sign in to ${site.name}</button>
</form>
<p>This demo asks for no password here. Accounts: ${people.map(({ login }) => login).join(', ')}.</p>`)
}

async function consent (ctx: Context, provider: Provider, interaction: Interaction, form: URLSearchParams | undefined, options: InteractionOptions) {
  const { site, people, scopes } = options
  switch (form?.get('decision')) {
    case 'allow':
      return await goOn(ctx, provider, { consent: { grantId: await grant(provider, interaction) } })
    case 'deny':
      return await goOn(ctx, provider, { error: 'access_denied', error_description: 'The resource owner refused' })
  }
  const client = await provider.Client.find(String(interaction.params.client_id))
  const person = people.find(({ subject }) => subject === interaction.session?.accountId)
  const asked = String(interaction.params.scope ?? '').split(' ').filter(scope => Object.hasOwn(scopes, scope))
  ctx.body = page(site, `Allow ${client?.clientName ?? 'this client'}?`, html`
<p>You are signed in to ${site.name} as <strong>${person?.login ?? ''}</strong>.</p>
<p><strong>${client?.clientName ?? interaction.params.client_id}</strong> wants to:</p>
<ul>!${asked.map(scope => html`<li>${scopes[scope]} <small>(${scope})</small></li>`).join('')}</ul>
<form method="post">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Refuse</button>
</form>`)
}

/** Adds what is asked for to what this person already granted to this client. */
async function grant (provider: Provider, { grantId, session, params, prompt }: Interaction): Promise<string> {
  const granted = (grantId == null ? undefined : await provider.Grant.find(grantId)) ??
    new provider.Grant({ accountId: String(session?.accountId), clientId: String(params.client_id) })
  const missing = prompt.details as {
    missingOIDCScope?: string[]
    missingOIDCClaims?: string[]
    missingResourceScopes?: Record<string, string[]>
  }
  if (missing.missingOIDCScope != null) granted.addOIDCScope(missing.missingOIDCScope.join(' '))
  if (missing.missingOIDCClaims != null) granted.addOIDCClaims(missing.missingOIDCClaims)
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
    granted.addResourceScope(resource, scopes.join(' '))
  }
  return await granted.save()
}

async function goOn (ctx: Context, provider: Provider, result: Parameters<Provider['interactionResult']>[2]) {
  const location = await provider.interactionResult(ctx.req, ctx.res, result, { mergeWithLastSubmission: 'consent' in result })
  ctx.status = 303
  ctx.redirect(location)
}

async function readForm (ctx: Context): Promise<URLSearchParams> {
  let body = ''
  for await (const chunk of ctx.req.setEncoding('utf8')) {
    body += String(chunk)
    if (body.length > 10_000) ctx.throw(413)
  }
  return new URLSearchParams(body)
}
