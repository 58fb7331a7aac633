import { defineProvider, github, type TenantRegistration } from 'fastify-mcp-connect'

/** Stands for a look-up in your database. */
const registrations = new Map<string | undefined, TenantRegistration>([
  ['initech', { clientId: process.env.INITECH_CLIENT_ID!, privateKey: JSON.parse(process.env.INITECH_KEY!) }]
])

// Only tenants with a registration have this provider.
export const acme = defineProvider({
  name: 'Acme',
  issuer: 'https://login.acme.example', // unless a registration names another one
  apiOrigins: ['https://api.acme.example'],
  registration: async tenant => registrations.get(tenant)
})

// All have this one; those without a registration of their own use that of the preset.
export const githubPerTenant = {
  ...github({ clientId: process.env.GITHUB_CLIENT_ID!, clientSecret: process.env.GITHUB_CLIENT_SECRET! }),
  registration: async (tenant: string | undefined) => registrations.get(tenant)
}
