import { createAddressLimit } from '../../../server/join-limit';
import {
  countedAs,
  networkProblem,
  plainAddress,
  readNetworks,
} from '../../../server/join-networks';

describe('the limit of one address', () => {
  const settings = { burst: 3, perSecond: 0.5, maxAddresses: 4 };

  it('allows a burst, then so many per second, and names the wait', () => {
    let now = 0;
    const limit = createAddressLimit(settings, () => now);

    const burst = [1, 2, 3, 4].map(() => limit.take('192.0.2.1'));
    now = 1_000;
    const early = limit.take('192.0.2.1');
    now = 2_000;
    const later = limit.take('192.0.2.1');

    expect(burst).toEqual([0, 0, 0, 2]);
    expect(early).toBe(1);
    expect(later).toBe(0);
  });

  it('is one, whether the address came through a socket of IPv4 or of both', () => {
    const limit = createAddressLimit(settings, () => 0);

    const taken = ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:192.0.2.1', '192.0.2.1'].map(
      (address) => limit.take(address),
    );

    expect(taken).toEqual([0, 0, 0, 2]);
    // Not all of IPv4 is one network.
    expect(limit.take('::ffff:192.0.2.2')).toBe(0);
  });

  it('saves up no more than the burst', () => {
    let now = 0;
    const limit = createAddressLimit(settings, () => now);
    limit.take('192.0.2.1');
    now = 3_600_000;

    expect([1, 2, 3, 4].map(() => limit.take('192.0.2.1'))).toEqual([0, 0, 0, 2]);
  });

  it('remembers only so many addresses, and forgets the quietest', () => {
    const limit = createAddressLimit(settings, () => 0);
    for (let i = 0; i < 3; i += 1) limit.take('192.0.2.1');
    for (let i = 10; i < 13; i += 1) limit.take(`192.0.2.${i}`);
    limit.take('192.0.2.1');
    for (let i = 20; i < 23; i += 1) limit.take(`192.0.2.${i}`);

    expect(limit.size).toBe(4);
    expect(limit.take('192.0.2.1')).toBeGreaterThan(0);
    for (let i = 30; i < 34; i += 1) limit.take(`192.0.2.${i}`);
    expect(limit.take('192.0.2.1')).toBe(0);
  });

  it('counts all addresses of one IPv6 network as one', () => {
    const limit = createAddressLimit(settings, () => 0);
    for (let i = 0; i < 3; i += 1) limit.take(`2001:db8::${i}`);

    expect(limit.take('2001:db8::ffff')).toBeGreaterThan(0);
    expect(limit.take('2001:db8:0:1::ffff')).toBe(0);
  });
});

describe('addresses', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:2001:1', '::ffff:2001:1'],
  ])('have one spelling: %s', (address, plain) => {
    expect(plainAddress(address)).toBe(plain);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001::1', '2001:db8:1:0::/64'],
    ['2001:DB8:1:0:ffff::', '2001:db8:1:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
    ['nonsense', 'nonsense'],
  ])('are counted as their network: %s', (address, key) => {
    expect(countedAs(address)).toBe(key);
  });
});

describe('networks', () => {
  it('include what is in one of them', () => {
    const networks = readNetworks(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32', '0.0.0.0/32']);

    expect(['10.255.0.1', '192.0.2.1', '2001:db8:9::1'].every((a) => networks.include(a))).toBe(
      true,
    );
    expect(['11.0.0.1', '192.0.2.2', '2001:db9::1', ''].some((a) => networks.include(a))).toBe(
      false,
    );
  });

  it('are everything when there is none', () => {
    expect(readNetworks([]).include('203.0.113.9')).toBe(true);
  });

  it.each([
    '',
    '10.0.0.0/33',
    '10.0.0/8',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '::/129',
    'fe80::1%eth0',
    'example.com',
    '10.0.0.0/ 8',
  ])('are not %s', (entry) => {
    expect(networkProblem(entry)).toMatch(/ is no network: expected /);
    expect(() => readNetworks(['10.0.0.0/8', entry])).toThrow(JSON.stringify(entry));
  });

  it.each(['0.0.0.0/0', '::/0', '2001:db8::1', '192.0.2.1/32'])('are %s', (entry) => {
    expect(networkProblem(entry)).toBeUndefined();
  });
});
