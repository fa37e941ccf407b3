import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { limitConnections, type ConnectionLimits } from '../../../server/connections';

/** A connection that has only an address and an end. */
class APeer extends EventEmitter {
  destroyed = false;

  constructor(
    readonly remoteAddress: string | undefined,
    readonly remotePort: number | undefined,
    readonly localAddress = '198.51.100.1',
    readonly localPort = 22_623,
  ) {
    super();
  }

  destroy(): void {
    this.destroyed = true;
    this.close();
  }

  /** A socket emits this shortly after its end. */
  close(): void {
    this.emit('close');
  }
}

const PATIENCE = 1_000;

function aServer(limits: Partial<ConnectionLimits>, isAllowed?: (address: string) => boolean) {
  const server = new EventEmitter();
  let port = 1_024;
  let clock = 0;
  const dropped: string[] = [];
  const admitted: Socket[] = [];
  const connections = limitConnections(
    server as unknown as Parameters<typeof limitConnections>[0],
    { maxConnections: 100, maxConnectionsPerAddress: 2, ...limits },
    {
      dropped: (reason, address = '') => void dropped.push(`${reason} ${address}`),
      admitted: (socket) => void admitted.push(socket),
      isAllowed,
      patience: PATIENCE,
      now: () => clock,
    },
  );
  const arrive = (peer: APeer): APeer => {
    server.emit('connection', peer);
    return peer;
  };
  const connect = (address: string, from = (port += 1)): APeer => arrive(new APeer(address, from));
  const pass = (ms: number): void => {
    clock += ms;
  };
  return { server, arrive, connect, connections, dropped, admitted, pass };
}

describe('connections of one address', () => {
  it('are those of its /64, of which one machine has as many addresses as it likes', () => {
    const { connect, connections, dropped } = aServer({});

    const first = connect('2001:db8:0:1::1');
    connect('2001:db8:0:1::2');
    expect(connect('2001:db8:0:1:ffff::3').destroyed).toBe(true);
    expect(connect('2001:db8:0:2::1').destroyed).toBe(false);

    expect(dropped).toEqual(['too-many-of-address 2001:db8:0:1:ffff::3']);
    first.destroy();
    expect(connect('2001:db8:0:1::4').destroyed).toBe(false);
    expect(connections.count()).toBe(3);
  });

  it('are the same whether the socket is of IPv4 or of both', () => {
    const { connect } = aServer({});

    connect('192.0.2.1');
    connect('::ffff:192.0.2.1');

    expect(connect('192.0.2.1').destroyed).toBe(true);
    // It does not share one /64 with all of IPv4.
    expect(connect('::ffff:192.0.2.2').destroyed).toBe(false);
  });
});

describe('where there is no room', () => {
  it('silent connections give way to others of their address, the oldest first', () => {
    const { connect, connections, dropped, pass } = aServer({});
    const oldest = connect('192.0.2.1');
    pass(10);
    const second = connect('192.0.2.1');
    pass(PATIENCE - 10);

    expect(connect('192.0.2.1').destroyed).toBe(false);
    // The second connection has some of its time left.
    expect(connect('192.0.2.1').destroyed).toBe(true);

    expect([oldest.destroyed, second.destroyed]).toEqual([true, false]);
    expect(dropped).toEqual(['gave-way 192.0.2.1', 'too-many-of-address 192.0.2.1']);
    expect(connections.count()).toBe(2);
  });

  it('the address with most connections gives way at once to one with fewer', () => {
    const { connect, connections, dropped } = aServer({
      maxConnections: 4,
      maxConnectionsPerAddress: 3,
    });
    const crowd = [1, 2, 3].map(() => connect('192.0.2.1'));
    const other = connect('2001:db8::1');

    const machine = connect('192.0.2.2');

    expect(crowd.map(({ destroyed }) => destroyed)).toEqual([true, false, false]);
    expect([other, machine].map(({ destroyed }) => destroyed)).toEqual([false, false]);
    expect(dropped).toEqual(['gave-way 192.0.2.1']);
    expect(connections.count()).toBe(4);
  });

  it('no connection gives way at once to a neighbour that would have as many', () => {
    const { connect, pass } = aServer({ maxConnections: 2 });
    const [first] = [connect('192.0.2.1'), connect('192.0.2.2')];

    expect(connect('192.0.2.3').destroyed).toBe(true);
    pass(PATIENCE);
    expect(connect('192.0.2.3').destroyed).toBe(false);
    expect(first?.destroyed).toBe(true);
  });

  it('no connection gives way while the server works for it, and every one afterwards', () => {
    const { connect, connections, pass } = aServer({});
    const peers = [connect('192.0.2.1'), connect('192.0.2.1')];
    for (const peer of peers) connections.atWork(peer);
    pass(PATIENCE);

    expect(connect('192.0.2.1').destroyed).toBe(true);
    for (const peer of peers) connections.waitFor(peer);
    expect(connect('192.0.2.1').destroyed).toBe(true);
    pass(PATIENCE);
    expect(connect('192.0.2.1').destroyed).toBe(false);

    expect(peers.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  });

  it('no connection gives way while another answer on it is in progress', () => {
    const { connect, connections, pass } = aServer({ maxConnectionsPerAddress: 1 });
    const peer = connect('192.0.2.1');
    connections.atWork(peer);
    connections.atWork(peer);
    connections.waitFor(peer);
    pass(PATIENCE);

    expect(connect('192.0.2.1').destroyed).toBe(true);
    connections.waitFor(peer);
    pass(PATIENCE);
    expect(connect('192.0.2.1').destroyed).toBe(false);
  });

  it('a connection that is gone makes room once', () => {
    const { connect, connections, pass } = aServer({});
    const peers = [connect('192.0.2.1'), connect('192.0.2.1')];
    pass(PATIENCE);
    connect('192.0.2.1');
    for (const peer of peers) peer.destroy();

    expect(connections.count()).toBe(1);
    expect(connect('192.0.2.1').destroyed).toBe(false);
    expect(connect('192.0.2.1').destroyed).toBe(true);
  });
});

describe('a client that comes back from the port of a connection that has not closed yet', () => {
  it('is counted once, and once no more when it goes', () => {
    const { connect, connections, dropped } = aServer({});
    const first = connect('192.0.2.1', 4_000);
    const second = connect('192.0.2.1', 4_000);
    expect([first.destroyed, second.destroyed]).toEqual([true, false]);
    first.close();
    expect(connections.count()).toBe(1);

    second.destroy();
    const others = [connect('192.0.2.1'), connect('192.0.2.1')];

    expect(others.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    expect(connect('192.0.2.1').destroyed).toBe(true);
    expect(dropped).toEqual(['too-many-of-address 192.0.2.1']);
  });

  it('waits by itself, whatever ends with the earlier one', () => {
    const { connect, connections, pass } = aServer({ maxConnectionsPerAddress: 1 });
    const earlier = connect('192.0.2.1', 4_000);
    connections.atWork(earlier);
    const later = connect('192.0.2.1', 4_000);
    connections.waitFor(earlier);
    connections.atWork(later);
    connections.waitFor(later);
    pass(PATIENCE);

    expect(connect('192.0.2.1').destroyed).toBe(false);
    expect(later.destroyed).toBe(true);
  });

  it('ends every connection that gives way, and frees its place', () => {
    const { connect, connections, dropped, pass } = aServer({});
    for (let again = 0; again < 10; again += 1) connect('192.0.2.1', 4_000);
    const working = [connect('192.0.2.1', 4_000), connect('192.0.2.1')];
    for (const peer of working) connections.atWork(peer);
    pass(PATIENCE);

    expect(connect('192.0.2.1').destroyed).toBe(true);
    expect(connections.count()).toBe(2);
    expect(dropped).toEqual(['too-many-of-address 192.0.2.1']);
  });
});

it('takes two connections from one port, to two addresses of the server, for two', () => {
  const { arrive, connections, pass } = aServer({ maxConnectionsPerAddress: 2 });
  const one = arrive(new APeer('192.0.2.1', 4_000, '198.51.100.1'));
  const other = arrive(new APeer('192.0.2.1', 4_000, '198.51.100.2'));
  expect([one.destroyed, other.destroyed, connections.count()]).toEqual([false, false, 2]);

  connections.atWork(other);
  pass(PATIENCE);
  arrive(new APeer('192.0.2.1', 4_001));

  expect([one.destroyed, other.destroyed, connections.count()]).toEqual([true, false, 2]);
});

it('keeps nothing of connections that were reset before they were accepted', () => {
  const { arrive, connections, dropped, admitted } = aServer({});

  const nobody = [1, 2, 3].map(() => arrive(new APeer(undefined, undefined)));

  expect(nobody.map(({ destroyed }) => destroyed)).toEqual([true, true, true]);
  expect([connections.count(), admitted, dropped]).toEqual([0, [], []]);
});

it('asks whether an address may connect at all in one spelling, before anything else is done', () => {
  const asked: string[] = [];
  const { connect, connections, admitted, dropped } = aServer({}, (address) => {
    asked.push(address);
    return address === '192.0.2.1';
  });

  expect(connect('::ffff:192.0.2.1').destroyed).toBe(false);
  expect(connect('198.51.100.1').destroyed).toBe(true);

  expect(asked).toEqual(['192.0.2.1', '198.51.100.1']);
  expect(dropped).toEqual(['network 198.51.100.1']);
  expect(admitted).toHaveLength(1);
  expect(connections.count()).toBe(1);
});

it('ends all of them at once', () => {
  const { connect, connections } = aServer({});
  const peers = [connect('192.0.2.1'), connect('192.0.2.2')];

  connections.destroyAll();

  expect(peers.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  expect(connections.count()).toBe(0);
});
