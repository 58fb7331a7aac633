export { allowLoopbackHttp } from '../loopback.js'
export { mcpEndpoint } from './endpoint.js'
export type { EndpointAuth, EndpointServer, McpEndpointOptions } from './types.js'
