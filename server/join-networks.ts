import { BlockList, isIP, isIPv4 } from 'node:net';

interface Networks {
  /** @param address - from `plainAddress` */
  include(address: string): boolean;
}

/**
 * None = every address.
 *
 * @throws an Error that names the invalid entry
 */
export function readNetworks(entries: readonly string[]): Networks {
  if (entries.length === 0) return { include: () => true };
  // In one list, ::/0 would match every IPv4 address as ::ffff:192.0.2.1.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries) addTo(lists, entry);
  return {
    include: (address) => {
      const version = isIP(address);
      const family = version === 4 ? 'ipv4' : 'ipv6';
      return version !== 0 && lists[family].check(address, family);
    },
  };
}

/** `plainAddress` never returns one of these. */
const MAPPED_ADDRESSES = new BlockList();
MAPPED_ADDRESSES.addSubnet('::ffff:0:0', 96, 'ipv6');

/** Undefined = the entry is a network. */
export function networkProblem(entry: string): string | undefined {
  const [address = '', bits, more] = entry.split('/');
  const version = isIP(address);
  if (version === 6 && MAPPED_ADDRESSES.check(address.split('%')[0] ?? '', 'ipv6')) {
    return (
      `${JSON.stringify(entry)} is IPv4 written as IPv6, in which no machine comes: ` +
      'write it as IPv4, like 192.0.2.0/24 for ::ffff:192.0.2.0/120'
    );
  }
  const size = version === 4 ? 32 : 128;
  const isNetwork =
    version !== 0 &&
    !address.includes('%') &&
    more === undefined &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= size));
  return isNetwork
    ? undefined
    : `${JSON.stringify(entry)} is no network: expected 192.0.2.0/24, 2001:db8::/32 or an address`;
}

function addTo(lists: Readonly<Record<'ipv4' | 'ipv6', BlockList>>, entry: string): void {
  const problem = networkProblem(entry);
  if (problem !== undefined) throw new Error(problem);
  const [address = '', bits] = entry.split('/');
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  if (bits === undefined) lists[family].addAddress(address, family);
  else lists[family].addSubnet(address, Number(bits), family);
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Without zone; an IPv4-mapped address as IPv4. */
export function plainAddress(address: string): string {
  const [plain = ''] = address.split('%');
  return MAPPED.exec(plain)?.[1] ?? plain;
}

/**
 * The unit of counting: an IPv4 address, or an IPv6 /64, because one machine can have all its
 * addresses.
 */
export function countedAs(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const before = groupsOf(head);
  const after = groupsOf(tail ?? '');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return `${groups.slice(0, 4).map(withoutZeros).join(':')}::/64`;
}

/** A dotted quad at the end is in the half that does not count. */
function groupsOf(text: string): readonly string[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => (group.includes('.') ? ['0', '0'] : [group]));
}

function withoutZeros(group: string): string {
  return group.replace(/^0+(?=.)/, '');
}
