/**
 * Faults that last, and faults that come together: processes that stand still for longer than their
 * heartbeats and leases, several that die at the same moment, and a server that leaves its place to
 * another one behind the same address. The rollout completes all the same, and no promise is broken.
 */

import { machineConfig, plainFile, withOsImage } from '../e2e/support/configs';
import { markOf, type Mark } from '../e2e/support/judgements';
import { POOL, START_MS, startWorld, STOP_MS, type World } from '../e2e/support/world';
import { startBalancer } from './support/balancer';
import { BoundaryWatch, type Boundary } from './support/boundaries';
import { campaign } from './support/campaign';
import { expectRest } from './support/rest';
import { tally } from './support/results';
import {
  OUTLASTING_MS,
  PATIENCE_MS,
  stillFor,
  strike,
  VICTIMS,
  type Victim,
} from './support/strike';

const STORY_MS = 600_000;

let world: World;

beforeAll(async () => {
  world = await startWorld({
    nodes: { master: 0, worker: 4 },
    temporalDatabase: true,
    patienceMs: PATIENCE_MS,
    maxUnavailable: 2,
    policy: { canary: { nodes: 1 }, failureThreshold: 1, verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0.5,
      applySeconds: 0.5,
      rebootSeconds: 0.7,
      jitter: 0.2,
      failures: [],
    },
    workloads: [{ app: 'cart', replicas: 4, minAvailable: 3, terminationMs: 300 }],
  });
}, START_MS);

afterAll(async () => {
  await world?.stop();
}, STOP_MS);

let serial = 0;

interface Rolling {
  readonly config: string;
  readonly mark: Mark;
}

/** A config that reboots every worker, as far as a node that is at the boundary. */
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

/** What stands still together; a campaign has each process do so alone, too. */
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

/** What dies together; a campaign has each pair. */
const DEAD: readonly (readonly [readonly Victim[], Boundary])[] =
  campaign().rounds === 0
    ? [
        [['etcd', 'temporal', 'host-worker'], 'Rebooting'],
        [['kube-apiserver', 'cluster-worker', 'server', 'controllers'], 'Draining'],
      ]
    : VICTIMS.flatMap((one, index) =>
        VICTIMS.slice(index + 1).map((other, turn) => {
          const boundaries = ['Draining', 'Applying', 'Rebooting', 'Verifying'] as const;
          return [[one, other], boundaries[(index + turn) % 4] ?? 'Applying'] as const;
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

test(
  'one of two servers behind one address dies: the other serves the hosts',
  async () => {
    const { product } = world.stack;
    const hosts = `host-worker/${POOL}`;
    const second = await product.startSecond('server');
    const ports = [product.hostEndpoint, product.secondHostEndpoint].map(
      (url) => new URL(url).port,
    );
    const balancer = await startBalancer(ports.map(Number));
    await product.end(hosts);
    await product.restartHosts(POOL, { serverUrl: `https://127.0.0.1:${balancer.port}` });

    const struck = await rollTo('Preparing');
    await product.kill('server');
    await expectRest(world, struck.config, struck.mark);
    // All of this one comes from the other, whoever was prepared already when the first died.
    const { config, mark } = await rollTo('Preparing');
    await expectRest(world, config, mark);

    await product.start('server');
    await product.end(hosts);
    await product.restartHosts(POOL);
    await balancer.close();
    await product.kill(second);
    tally('together', { victim: 'server', blow: 'one of two dies', boundary: 'Preparing' });
  },
  STORY_MS,
);
