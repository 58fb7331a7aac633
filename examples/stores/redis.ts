import { redisStore } from 'fastify-mcp-connect'
import { Redis } from 'ioredis'

const client = new Redis(process.env.REDIS_URL!) // or a Cluster
export const store = redisStore(client) // { prefix: 'mcp-connect:' } by default
