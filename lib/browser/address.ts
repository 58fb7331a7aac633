import ipaddr from 'ipaddr.js'

/** A site with IPv6 has as many addresses as it likes, all of them within one /64 (RFC 6177). */
const IPV6_SITE = 8

/** Names where a request comes from: an IPv4 address, also where it is written as an IPv6 one; of IPv6 the /64. */
export function addressKey (ip: string): string {
  if (!ipaddr.isValid(ip)) return ip                              // a Unix domain socket has none
  const address = ipaddr.process(ip)
  return Buffer.from(address.toByteArray().slice(0, IPV6_SITE)).toString('hex')
}
