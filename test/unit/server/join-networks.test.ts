import { readNetworks } from '../../../server/join-networks';

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
