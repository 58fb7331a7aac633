export { mcpConnect, mcpConnect as default } from './plugin.js'
export { allowLoopbackHttp } from './loopback.js'
export { defineProvider } from './providers/define-provider.js'
export { github, type GithubRegistration } from './providers/github.js'
export { memoryStore } from './stores/memory.js'
export type {
  BrowserIdentity, BrowserUser, Bus, Claims, Connection, ConnectionOf, ContextOf, Guard, McpConnect, McpConnectOptions,
  McpConnectProviders, McpServerLike, Principal, Provider, ProviderDefinition, ProviderName, RequireOptions, Revision,
  StateStore, Store, Stored, TokenVault
} from './types.js'
