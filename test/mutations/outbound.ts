import { mutationsOf } from './mutation.js'

const SCRIPTED = ['test/oauth/scripted-server.test.ts']
const OUTBOUND = ['test/oauth/outbound.test.ts']

/** Where requests to authorization servers go, and where they do not. */
export const outbound = [
  ...mutationsOf('lib/oauth/outbound.ts', OUTBOUND,
    { name: 'requests go out without TLS', find: "if (!isSecure(target, loopback)) throw new OutboundError('not_https', target)", replace: '' },
    { name: 'requests go to private addresses in the place of a name', find: "if (!mayRequest(target, policy)) throw new OutboundError('not_public', target)", replace: '' },
    { name: 'requests go wherever a name leads', find: ', connect: { lookup: checkedLookup(policy, resolve) }', replace: '' },
    { name: 'requests share connections, whose address was checked for another one', find: 'pipelining: 0', replace: 'pipelining: 1' },
    { name: 'an answer may take for ever', find: 'AbortSignal.timeout(TIMEOUT_MS)', replace: 'AbortSignal.timeout(60 * TIMEOUT_MS)', tests: SCRIPTED },
    { name: 'the time of an answer is only that of the library', find: 'init.signal == null ? timeout : AbortSignal.any([init.signal, timeout])', replace: 'init.signal ?? timeout' },
    { name: "the library's own time counts for nothing", find: 'init.signal == null ? timeout : AbortSignal.any([init.signal, timeout])', replace: 'timeout' },
    { name: 'redirects are followed', find: "redirect: 'manual'", replace: "redirect: 'follow'", tests: SCRIPTED },
    { name: 'why a request was not sent is not told', find: "error.cause instanceof NotPublicError ? new OutboundError('not_public', target) : error", replace: 'error' },
    { name: 'an address is taken though the name could not be looked up', find: 'if (error !== null) return done(error, [])', replace: '' },
    { name: 'a name without an address is let through', find: 'addresses.length > 0 && ', replace: '' },
    { name: 'one public address lets private ones through', find: 'addresses.every((', replace: 'addresses.some((' },
    { name: 'a name is checked, and another address is connected to', find: 'if (!allowed) return done(new NotPublicError(), [])', replace: '' },
    { name: 'an answer that may have no body is a fault', find: 'BODILESS.includes(response.status) ? null : body', replace: 'body' },
    { name: 'an answer may be of any size', find: "if (size > MAX_BYTES) throw new OutboundError('answer_too_large', target)", replace: '', tests: SCRIPTED }
  ),
  ...mutationsOf('lib/ip-address.ts', ['test/ip-address.test.ts'],
    { name: 'what is no address is public', find: 'if (!ipaddr.isValid(address)) return false', replace: 'if (!ipaddr.isValid(address)) return true' },
    { name: 'every address is public', find: 'return isPublic(parsed) ||', replace: 'return parsed !== null ||' },
    { name: 'addresses of IPv6 that nobody was given are public', find: "(address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_IPV6))", replace: 'address !== null' },
    { name: 'addresses of a range for documentation are public', find: "address.range() === 'unicast' && (", replace: "address.range() !== 'private' && (" },
    { name: 'addresses of this machine are public', find: "(range === 'loopback' && loopback)", replace: "range === 'loopback'" },
    { name: 'addresses of this machine are never let through', find: "(range === 'loopback' && loopback)", replace: 'false' },
    { name: 'any address is let through for the hosts of a private network', find: 'PRIVATE.includes(range) && privateHosts', replace: 'privateHosts' },
    { name: 'private addresses are let through for all hosts', find: ' && privateHosts.includes(host))', replace: ')' },
    ...["'private'", "'uniqueLocal'", "'carrierGradeNat'", "'rfc6052'", "'loopback'"].map((range, i) => ({
      name: `the hosts of a private network cannot have an address of the range ${range.replaceAll("'", '')}`, find: i === 0 ? `[${range}, ` : `, ${range}${i === 4 ? ']' : ', '}`, replace: i === 0 ? '[' : i === 4 ? ']' : ', '
    })),
    { name: 'an IPv6 address in the place of a name is none', find: "hostname.replace(/^\\[|\\]$/g, '')", replace: 'hostname' }
  )
]
