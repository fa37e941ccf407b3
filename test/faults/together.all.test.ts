/**
 * Long and combined faults: processes frozen for longer than their heartbeats and leases, several
 * killed at once, and a server replaced by another behind the same address. The rollout completes,
 * and no promise is broken.
 */

import { machineConfig, plainFile, withOsImage } from '../e2e/support/configs';
import { markOf, type Mark } from '../e2e/support/judgements';
import { POOL, START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import type { HostServer } from '../../tools/stack/product';
import { startBalancer } from './support/balancer';
import { BoundaryWatch, type Boundary } from './support/boundaries';
import { at, campaign } from './support/campaign';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import { OUTLASTING_MS, STRUCK, stillFor, strike, VICTIMS, type Victim } from './support/strike';

const STORY_MS = 600_000;
const HOSTS = `host-worker/${POOL}`;
const PROCESSES = ['controllers', 'cluster-worker', 'server'] as const;
const EVERYTHING = [...PROCESSES, 'host-worker'].join(', ');

let world: World;

beforeAll(async () => {
  world = await startWorld(STRUCK);
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

interface Rolling {
  readonly config: string;
  readonly mark: Mark;
}

async function rollTo(boundary: Boundary): Promise<Rolling> {
  serial += 1;
  const mark = markOf(world.record);
  const manifest = machineConfig('50-together', {
    kernelArguments: [`together=${serial}`],
    files: [plainFile('/etc/together.conf', String(serial))],
  });
  const config = await world.roll(withOsImage(manifest, serial));
  await new BoundaryWatch(world, config).reach(boundary);
  return { config, mark };
}

/** Frozen together; a campaign also freezes each process alone. */
const STILL: readonly (readonly [readonly Victim[], Boundary])[] = [
  [['host-worker', 'cluster-worker', 'controllers'], 'Applying'],
  ...(campaign().rounds === 0
    ? []
    : VICTIMS.flatMap((victim) =>
        (['Draining', 'Applying', 'Verifying'] as const).map(
          (boundary) => [[victim], boundary] as const,
        ),
      )),
];

test.each(STILL)(
  '%j stand still for longer than their heartbeats and leases, at %s',
  async (victims, boundary) => {
    const { config, mark } = await rollTo(boundary);
    await Promise.all(victims.map((victim) => stillFor(world.stack, victim, OUTLASTING_MS)));
    await expectRest(world, config, mark);
    tally('together', {
      victim: victims.join(', '),
      blow: `still for ${OUTLASTING_MS / 1000} s`,
      boundary,
    });
  },
  STORY_MS,
);

/** A campaign has each pair. */
const DEAD: readonly (readonly [readonly Victim[], Boundary])[] =
  campaign().rounds === 0
    ? [
        [['etcd', 'temporal', 'host-worker'], 'Rebooting'],
        [['kube-apiserver', 'cluster-worker', 'server', 'controllers'], 'Draining'],
      ]
    : VICTIMS.flatMap((one, index) =>
        VICTIMS.slice(index + 1).map((other, turn) => {
          const boundaries = ['Draining', 'Applying', 'Rebooting', 'Verifying'] as const;
          return [[one, other], at(boundaries, (index + turn) % 4)] as const;
        }),
      );

test.each(DEAD)(
  '%j die at the same moment, at %s',
  async (victims, boundary) => {
    const { config, mark } = await rollTo(boundary);
    await Promise.all(victims.map((victim) => strike(world.stack, victim, 'kill')));
    await expectRest(world, config, mark);
    tally('together', { victim: victims.join(', '), blow: 'kill', boundary });
  },
  STORY_MS,
);

interface TwoServers {
  readonly server: HostServer;
  /** Points the hosts, which must not run, to the first server only. */
  end(): Promise<void>;
}

async function twoServers(): Promise<TwoServers> {
  const { product } = world.stack;
  const second = await product.startSecond('server');
  const both = [product, product.secondServer];
  const portOf = (url: string): number => Number(new URL(url).port);
  const endpoint = await startBalancer(both.map((one) => portOf(one.hostEndpoint)));
  const gateway = await startBalancer(both.map((one) => portOf(`http://${one.gatewayAddress}`)));
  const server = {
    hostEndpoint: `https://127.0.0.1:${endpoint.port}`,
    gatewayAddress: `127.0.0.1:${gateway.port}`,
  };
  await product.end(HOSTS);
  await product.restartHosts(POOL, { server });
  return {
    server,
    end: async () => {
      await product.start('server');
      await product.restartHosts(POOL);
      await Promise.all([endpoint.close(), gateway.close()]);
      await product.kill(second);
    },
  };
}

test(
  'one of two servers behind one address dies: the other serves the hosts',
  async () => {
    const { product } = world.stack;
    const servers = await twoServers();

    const struck = await rollTo('Preparing');
    await product.kill('server');
    await expectRest(world, struck.config, struck.mark);
    // The second server serves this whole config.
    const { config, mark } = await rollTo('Preparing');
    await expectRest(world, config, mark);

    await product.end(HOSTS);
    await servers.end();
    tally('together', { victim: 'server', blow: 'one of two dies', boundary: 'Preparing' });
  },
  STORY_MS,
);

test(
  'two of everything finish a rollout, and of one in which one of each dies the others do',
  async () => {
    const { product } = world.stack;
    const servers = await twoServers();
    const others = await Promise.all([
      product.startSecond('controllers'),
      product.startSecond('cluster-worker'),
      product.startSecondHosts(POOL, servers),
    ]);

    const together = await rollTo('Applying');
    await expectRest(world, together.config, together.mark);
    tally('together', { victim: EVERYTHING, blow: 'two of each', boundary: 'all of the rollout' });
    const struck = await rollTo('Applying');
    await Promise.all([...PROCESSES, HOSTS].map((name) => product.kill(name)));
    await expectRest(world, struck.config, struck.mark);
    tally('together', {
      victim: EVERYTHING,
      blow: 'one of two of each dies',
      boundary: 'Applying',
    });

    await Promise.all(others.map((name) => product.kill(name)));
    await Promise.all([product.start('controllers'), product.start('cluster-worker')]);
    await servers.end();
  },
  STORY_MS,
);
