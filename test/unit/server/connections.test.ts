import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { limitConnections, type ConnectionLimits } from '../../../server/connections';

/** A connection of which nothing but the address and the end matter. */
class APeer extends EventEmitter {
  destroyed = false;

  constructor(readonly remoteAddress: string) {
    super();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function aServer(limits: Partial<ConnectionLimits>, isAllowed?: (address: string) => boolean) {
  const server = Object.assign(new EventEmitter(), { maxConnections: 0 });
  const dropped: string[] = [];
  const admitted: Socket[] = [];
  const connections = limitConnections(
    server as unknown as Parameters<typeof limitConnections>[0],
    { maxConnections: 100, maxConnectionsPerAddress: 2, ...limits },
    {
      dropped: (reason, address = '') => void dropped.push(`${reason} ${address}`),
      admitted: (socket) => void admitted.push(socket),
      isAllowed,
    },
  );
  const connect = (address: string): APeer => {
    const peer = new APeer(address);
    server.emit('connection', peer);
    return peer;
  };
  return { server, connect, connections, dropped, admitted };
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
    // Not one /64 with all others of IPv4.
    expect(connect('::ffff:192.0.2.2').destroyed).toBe(false);
  });
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
