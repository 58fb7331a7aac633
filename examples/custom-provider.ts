import { defineProvider } from 'fastify-mcp-connect'

export const acme = defineProvider({
  name: 'Acme', // shown to people
  issuer: 'https://login.acme.example', // metadata is found from it; a response that names another `iss` is refused
  clientId: process.env.ACME_CLIENT_ID!,
  clientSecret: process.env.ACME_CLIENT_SECRET!, // leave it out for a public client
  scopes: ['issues:read'], // [] by default: what every authorization request asks for
  apiOrigins: ['https://api.acme.example'] // where connection.fetch may send the token
})
