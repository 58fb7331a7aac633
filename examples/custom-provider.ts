import { defineProvider, github } from 'fastify-mcp-connect'

export const acme = defineProvider({
  name: 'Acme', // shown to people
  issuer: 'https://login.acme.example', // metadata is found from it; a response that names another `iss` is refused
  clientId: process.env.ACME_CLIENT_ID!,
  clientSecret: process.env.ACME_CLIENT_SECRET!, // leave it out for a public client
  scopes: ['issues:read'], // [] by default: what every authorization request asks for
  apiOrigins: ['https://api.acme.example'] // where connection.fetch may send the token
})

// A preset is data too. Each further origin is one more that sees tokens.
const base = github({ clientId: process.env.GITHUB_CLIENT_ID!, clientSecret: process.env.GITHUB_CLIENT_SECRET! })
export const githubWithRaw = { ...base, apiOrigins: [...base.apiOrigins, 'https://raw.githubusercontent.com'] }
