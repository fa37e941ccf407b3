import { networkProblem, readNetworks } from '../../../server/join-networks';

it.each([
  ['::/0', '192.0.2.1', false],
  ['::/0', '2001:db8::1', true],
  ['0.0.0.0/0', '192.0.2.1', true],
  ['0.0.0.0/0', '2001:db8::1', false],
  ['192.0.2.0/24', '192.0.2.200', true],
  ['192.0.2.0/24', '192.0.3.1', false],
])('%s has %s: %s', (network, address, expected) => {
  expect(readNetworks([network]).include(address)).toBe(expected);
});

it.each(['::ffff:10.0.0.0/104', '::ffff:a00:0/104', '0:0:0:0:0:FFFF:192.0.2.1', '::ffff:0:0/96'])(
  '%s, which no address would ever be in, is refused with how to write it',
  (entry) => {
    const problem =
      `${JSON.stringify(entry)} is IPv4 written as IPv6, in which no machine comes: ` +
      'write it as IPv4, like 192.0.2.0/24 for ::ffff:192.0.2.0/120';

    expect(networkProblem(entry)).toBe(problem);
    expect(() => readNetworks([entry])).toThrow(problem);
  },
);

it.each(['::/0', '::1', '64:ff9b::/96', '::fffe:0:0/96'])('%s is a network of IPv6', (entry) => {
  expect(networkProblem(entry)).toBeUndefined();
});
