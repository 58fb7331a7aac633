import ipaddr from 'ipaddr.js'

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
