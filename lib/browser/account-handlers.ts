import type { FastifyRequest } from 'fastify'
import { auditedElicitation } from '../elicitation/elicitations.js'
import type { UndecidedGrant } from '../elicitation/undecided-grants.js'
import { ConsumedError, ContextMismatchError, DisconnectedError, NotFoundError } from '../errors.js'
import { randomToken } from '../random.js'
import { tellsAccounts } from '../oauth/identity.js'
import type { Account, Provider } from '../types.js'
import { assertAuthorized, assertPending, assertWon } from './assertions.js'
import { idOf } from './interaction-handlers.js'
import { findOwn, type Own } from './own-elicitation.js'
import { accountPage, CHOICES, type Choice } from './pages/account.js'
import { accountView, page, requireProvider, requireVisitor, type BrowserServices, type Handler } from './services.js'
import { assertNotRevoked, storeGrant } from './storing.js'
import type { Visitor } from './visitors.js'

interface Undecided extends Own {
  readonly provider: Provider
  readonly undecided: UndecidedGrant
}

/** The question that is asked when a provider has sent back another account than the one that is connected: which of them shall it be? */
export function accountHandlers (services: BrowserServices): Record<'show' | 'decide', Handler> {
  const { urls, forms, connections, elicitations, undecidedGrants, revocations, audit } = services

  async function find (request: FastifyRequest, visitor: Visitor): Promise<Undecided> {
    const own = await findOwn(services, request, idOf(request), visitor)
    assertPending(own.elicitation)
    const undecided = await undecidedGrants.find(own.hash)
    if (undecided === null) throw new ConsumedError()
    const provider = await requireProvider(services, own.elicitation.provider, visitor.principal)
    const { issuer, clientId } = undecided.flow
    if (issuer !== provider.issuer || clientId !== provider.clientId) throw new ContextMismatchError()
    await assertNotRevoked(services, undecided.flow, visitor.principal)
    return { ...own, provider, undecided }
  }

  const actionOf = (choice: Choice, { hash, undecided }: Undecided): readonly string[] => ['account', choice, hash, undecided.attempt]

  /** The account that would be replaced; `null` when it is gone. */
  async function connectedAccount ({ elicitation: { principal, provider: key }, provider, undecided }: Undecided): Promise<Account | null> {
    const found = await connections.look(principal, key, provider)
    const stored = found.kind === 'usable' ? found.entry.accounts.find(({ id }) => id === undecided.replaces) : undefined
    return stored?.grant.account ?? null
  }

  async function discard ({ elicitation: { principal }, undecided: { grant, flow: { provider, issuer, clientId } } }: Undecided): Promise<void> {
    await revocations.discard(principal, provider, { issuer, clientId, grant })
  }

  return {
    show: page(services, request => urls.elicitation(idOf(request), 'account'), async (visitor, request, reply) => {
      const found = await find(request, visitor)
      const csrf = await forms.open(request, reply, visitor.principal)
      const { id, provider, undecided: { grant } } = found
      const choices = CHOICES.filter(choice => choice !== 'add' || (tellsAccounts(provider) && grant.account !== undefined))
      return reply.send(accountPage({
        provider: provider.name,
        account: accountView(services, visitor, urls.elicitation(id, 'account')),
        connected: await connectedAccount(found),
        granted: grant.account ?? null,
        choices: choices.map(choice => ({ choice, form: { action: urls.elicitation(id, `account/${choice}`), csrf: csrf(actionOf(choice, found)) } }))
      }))
    }),

    async decide (request, reply) {
      const visitor = requireVisitor(request)
      const { choice } = request.params as { choice: Choice }
      if (!CHOICES.includes(choice)) throw new NotFoundError()
      const found = await find(request, visitor)
      await forms.check(request, visitor.principal, actionOf(choice, found))
      await assertAuthorized(services, found.elicitation)
      const { id, hash, elicitation, provider, undecided: { grant, replaces, flow, attempt } } = found
      const holder = randomToken()
      assertWon(await elicitations.hold(hash, holder))
      try {
        // Another decision may have been made since it was read.
        if ((await undecidedGrants.find(hash))?.attempt !== attempt) throw new ConsumedError()
        if (choice !== 'discard') {
          await storeGrant(services, { principal: elicitation.principal, provider, flow, grant, replaces: choice === 'replace' ? replaces : null, hash, holder, log: request.log })
        }
        if (choice === 'discard') await discard(found)
        await undecidedGrants.take(hash)
        audit('account.decided', { ...auditedElicitation(hash, elicitation), attempt, choice })
        await revocations.keep(attempt)
      } catch (error) {
        if (error instanceof DisconnectedError && await undecidedGrants.take(hash) !== null) {
          await revocations.keep(attempt)
          await discard(found)
        }
        await elicitations.release(hash, holder).catch(() => {})
        throw error
      }
      if (choice !== 'discard') return reply.redirect(urls.elicitation(id, 'done'), 303)
      await elicitations.release(hash, holder)
      return reply.redirect(urls.elicitation(id), 303)      // the link is still good, for the account that was meant
    }
  }
}
