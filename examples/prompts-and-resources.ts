import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { FastifyInstance } from 'fastify'
import type { Connection } from 'fastify-mcp-connect'
import { z } from 'zod'

const needs = { scopes: ['repo'], reason: 'to read your issues' }

/** Prompts and resources are guarded as tools are. The connection comes first, then what the SDK passes. */
export function registerIssues (app: FastifyInstance, server: McpServer): void {
  const { requireConnection } = app.mcpConnect.for(server)

  server.registerPrompt('triage', { description: 'Finds what to do first', argsSchema: { label: z.string() } },
    requireConnection('github', needs, async (github, { label }) => ({
      messages: [{
        role: 'user',
        content: { type: 'text', text: `Which of these is the most urgent?\n${await read(github, `issues?${new URLSearchParams({ labels: label }).toString()}`)}` }
      }]
    })))

  server.registerResource('issues', 'github://issues', { mimeType: 'application/json' },
    requireConnection('github', needs, async (github, uri) => ({ contents: [{ uri: uri.href, text: await read(github, 'issues') }] })))

  server.registerResource('issue', new ResourceTemplate('github://issues/{owner}/{repo}/{number}', { list: undefined }), { mimeType: 'application/json' },
    requireConnection('github', needs, async (github, uri, variables) => {
      // Variables come from the model: encoded, none adds a path or a query of its own.
      const [owner, repo, number] = ['owner', 'repo', 'number'].map(name => encodeURIComponent(String(variables[name])))
      return { contents: [{ uri: uri.href, text: await read(github, `repos/${owner}/${repo}/issues/${number}`) }] }
    }))
}

async function read (github: Connection, path: string): Promise<string> {
  const response = await github.fetch(`https://api.github.com/${path}`)
  if (!response.ok) throw new Error(`GitHub answered with status ${response.status}`)
  return await response.text()
}
