/**
 * Which addresses the bridge may dial. Everything that is not globally reachable by the special
 * purpose registries of IANA (RFC 6890 and its updates) is refused; private ranges may be permitted
 * for a name.
 */
import { BlockList, isIP } from 'node:net';

/** `private` may be permitted by a rule, `special` never. */
export type AddressKind = 'public' | 'private' | 'special';

const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'];
const specialRanges = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  // Link-local, with the metadata services of clouds.
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  // The range of the bridge's own addresses.
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Metadata services that lie in ranges which a rule may permit. */
const metadata = ['100.100.100.200/32', '192.0.0.192/32', '168.63.129.16/32'];

/** Global unicast is 2000::/3; of it these are not reachable, or lead to an IPv4 address. */
const specialRanges6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20', '5f00::/16'];
const metadata6 = [
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  'fd00:c1::a9fe:a9fe/128',
];

const list = (family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList => {
  const found = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    found.addSubnet(address, Number(bits), family);
  }
  return found;
};
const private4 = list('ipv4', privateRanges);
const special4 = list('ipv4', [...specialRanges, ...metadata]);
const global6 = list('ipv6', ['2000::/3']);
const private6 = list('ipv6', ['fc00::/7']);
const special6 = list('ipv6', [...specialRanges6, ...metadata6]);

/** @param address as the system's resolver writes it; anything else is `special` */
export function addressKind(address: string): AddressKind {
  // A zone leads to an interface of this machine.
  if (address.includes('%')) return 'special';
  switch (isIP(address)) {
    case 4:
      if (special4.check(address)) return 'special';
      return private4.check(address) ? 'private' : 'public';
    case 6:
      // IPv4-mapped, NAT64 and all that is not global unicast fall through to `special`.
      if (special6.check(address, 'ipv6')) return 'special';
      if (private6.check(address, 'ipv6')) return 'private';
      return global6.check(address, 'ipv6') ? 'public' : 'special';
    default:
      return 'special';
  }
}
