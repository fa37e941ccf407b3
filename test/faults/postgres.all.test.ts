/**
 * Temporal for production: 30 nodes, while PostgreSQL and the Temporal server are killed in the
 * middle, and while the databases of an older backup take the place of the present ones.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ensureBinary } from '../../tools/binaries';
import { run } from '../../tools/binaries/run-program';
import { ensurePostgres } from '../../tools/postgres/programs';
import { repositoryRoot } from '../../tools/repository-root';
import {
  isOnPostgres,
  type Databases,
  type TemporalOnPostgres,
} from '../../tools/temporal-postgres';
import { machineConfig, plainFile } from '../e2e/support/configs';
import { markOf } from '../e2e/support/judgements';
import {
  CURRENT_CONFIG,
  STATE,
  START_MS,
  startWorld,
  STOP_MS,
  type World,
} from '../e2e/support/world';
import { expectRest } from './support/rest';
import { PATIENCE_MS } from './support/strike';

const STORY_MS = 900_000;
const NODES = 30;
const AT_ONCE = 6;

let world: World;
let temporal: TemporalOnPostgres;
let backups: string;

beforeAll(async () => {
  backups = await mkdtemp(join(tmpdir(), 'slipway-backup-'));
  world = await startWorld({
    nodes: { master: 0, worker: NODES },
    temporalDatabase: 'postgres',
    patienceMs: PATIENCE_MS,
    maxUnavailable: AT_ONCE,
    policy: { canary: { nodes: 1 }, failureThreshold: 1, verify: { readySeconds: 1 } },
    simulation: {
      stageSeconds: 0.1,
      applySeconds: 0.3,
      rebootSeconds: 1,
      jitter: 0.4,
      failures: [],
    },
    workloads: [{ app: 'cart', replicas: 12, minAvailable: 9, terminationMs: 300 }],
  });
  if (!isOnPostgres(world.stack.temporal)) throw new Error('Temporal is not on PostgreSQL');
  temporal = world.stack.temporal;
}, START_MS);

afterAll(async () => {
  try {
    await world?.stop();
  } finally {
    await rm(backups, { recursive: true, force: true });
  }
}, STOP_MS);

function roll(name: string): Promise<string> {
  return world.roll(
    machineConfig('50-postgres', {
      kernelArguments: [`slipway=${name}`],
      files: [plainFile('/etc/slipway-test.conf', name)],
    }),
  );
}

async function untilDone(config: string, count: number): Promise<void> {
  const done = (): number =>
    world.workers.filter((name) => {
      const { annotations } = world.node(name);
      return annotations[CURRENT_CONFIG] === config && annotations[STATE] === 'Done';
    }).length;
  await world.until(`${count} nodes are on ${config}`, () => done() >= count);
}

/** With the commands of docs/temporal.md. */
async function runDeployed(
  script: string,
  databases: Databases,
  address = temporal.address,
): Promise<void> {
  const { directory } = await ensurePostgres();
  const cli = dirname(await ensureBinary('temporal'));
  await run('sh', [join(repositoryRoot(), 'deploy', 'temporal', script), backups], {
    ...process.env,
    ...temporal.postgres.environment,
    POSTGRES_DATABASE: databases.workflows,
    POSTGRES_VISIBILITY_DATABASE: databases.visibility,
    TEMPORAL_ADDRESS: address,
    PATH: [directory, cli, process.env['PATH']].join(delimiter),
  });
}

test(
  'a rollout outlives kill -9 of PostgreSQL and of Temporal',
  async () => {
    const mark = markOf(world.record);
    const config = await roll('killed');

    await untilDone(config, 5);
    await temporal.postgres.kill();
    await temporal.postgres.restart();
    await untilDone(config, 12);
    await temporal.kill();
    await temporal.restart();
    await untilDone(config, 18);
    await temporal.postgres.kill();
    await temporal.kill();
    await temporal.postgres.restart();
    await temporal.restart();

    await expectRest(world, config, mark);
  },
  STORY_MS,
);

test(
  'a rollout outlives the loss of one of two Temporal servers',
  async () => {
    const replica = await temporal.startReplica();
    const mark = markOf(world.record);
    const config = await roll('one of two');

    await untilDone(config, 10);
    await replica.kill();

    await expectRest(world, config, mark);
  },
  STORY_MS,
);

test(
  'a rollout goes on in new databases, made from a backup that is older than its last nodes',
  async () => {
    const mark = markOf(world.record);
    const config = await roll('restored');
    const restored = { workflows: 'temporal_restored', visibility: 'visibility_restored' };

    await untilDone(config, 5);
    await temporal.kill();
    await runDeployed('backup.sh', temporal.databases);
    await temporal.restart();
    await untilDone(config, 12);
    await temporal.kill();
    await runDeployed('restore.sh', restored);
    await temporal.moveTo(restored, (address) => runDeployed('forget.sh', restored, address));

    await expectRest(world, config, mark);
    const after = markOf(world.record);
    await expectRest(world, await roll('after the restore'), after);
  },
  STORY_MS,
);
