import ipaddr from 'ipaddr.js'

/*
 * What an IP address is: where a request comes from, and where one may go.
 */

/** A site with IPv6 has as many addresses as it likes, all of them within one /64 (RFC 6177). */
const SITE_BYTES = 8
const IPV4_BYTES = 4

/** Names where a request comes from: an IPv4 address, also where it is mapped or translated to an IPv6 one (RFC 4291, 6052); of IPv6 the /64. */
export function addressKey (ip: string | undefined): string {
  if (ip === undefined || !ipaddr.isValid(ip)) return 'no address'      // as with a Unix domain socket
  const address = ipaddr.process(ip)
  const bytes = address.toByteArray()
  return Buffer.from(address.range() === 'rfc6052' ? bytes.slice(-IPV4_BYTES) : bytes.slice(0, SITE_BYTES)).toString('hex')
}

/** What is let through beside public addresses. */
export interface AddressPolicy {
  /** Hosts that may have private addresses. */
  readonly privateHosts: readonly string[]
  /** Whether every host may have one of this machine. */
  readonly loopback: boolean
}

/** Of a company's own network; RFC 6052 translates whatever is behind it. Link-local addresses, such as those of metadata services, are none. */
const PRIVATE: readonly string[] = ['private', 'uniqueLocal', 'carrierGradeNat', 'rfc6052', 'loopback']

/**
 * Whether a host may be connected to at an address: one that is public, and spelled as such (no IPv4 address inside of an IPv6 one); or one
 * that this host is known to have. (RFC 6890; MCP, security best practices, "Server-Side Request Forgery")
 */
export function mayConnect (host: string, address: string, { privateHosts, loopback }: AddressPolicy): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  const range = parsed.range()
  return isPublic(parsed) || (range === 'loopback' && loopback) || (PRIVATE.includes(range) && privateHosts.includes(host))
}

/** Of IPv6, so far only this much has been given to anybody (RFC 4291 section 2.4; the IANA registry of global unicast addresses). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

function isPublic (address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6))
}

/** Whether a URL may be requested, as far as that is known before its host is looked up. */
export function mayRequest ({ hostname }: URL, policy: AddressPolicy): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return !ipaddr.isValid(address) || mayConnect(hostname, address, policy)
}
