import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NODES } from '../../../adapters/kube/resources';
import { hostQueue, updateNodeId } from '../../../core/names';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import { firstOrderKey, OrderSigningKey } from '../../../workers/cluster/orders/stored-key';
import { freeLoopbackPort } from '../../../process/health-server';
import { createLogger } from '../../../process/logging';
import { installTemporalRuntime } from '../../../process/temporal/runtime';
import type {
  ConfigReference,
  HostActivities,
  HostOrder,
  HostStep,
} from '../../../workflows/contracts/host';
import { eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from '../server/endpoint-fixture';
import { signedOrder } from '../../support/signed-orders';
import { startHosts, type HostsHere } from './simulated-hosts';

jest.setTimeout(240_000);

const NODE_NAMES = ['worker-0', 'worker-1', 'worker-2'];
/** Its host worker starts while Temporal is away. */
const LATE = 'worker-3';

function aSpec(text: string, more: object = {}) {
  return {
    osImageURL: 'quay.io/os@sha256:1',
    baseOSExtensionsContainerImage: '',
    kernelArguments: [],
    extensions: [],
    fips: false,
    kernelType: 'default',
    config: {
      ignition: { version: '3.5.0' },
      storage: { files: [{ path: '/etc/motd', contents: { source: `data:,${text}` } }] },
    },
    ...more,
  };
}

let endpoint: EndpointFixture;
let temporal: TemporalServer;
let client: Client;
let hosts: HostsHere;
/** Address of the SDK's metrics. */
let sdkMetrics: string;
let first: ConfigReference;
let second: ConfigReference;
/** By node: its updates, each begun by an order to prepare. */
const runs = new Map<string, number>();
let given = 0;

beforeAll(async () => {
  [endpoint, temporal] = await Promise.all([
    startEndpoint([...NODE_NAMES, LATE]),
    startTemporal({ ui: false }),
  ]);
  first = await endpoint.addConfig('rendered-worker-1', 'worker', aSpec('one'));
  second = await endpoint.addConfig(
    'rendered-worker-2',
    'worker',
    aSpec('two', { osImageURL: 'quay.io/os@sha256:2', kernelArguments: ['nosmt'] }),
  );
  client = await temporalClient(temporal);
  sdkMetrics = `127.0.0.1:${await freeLoopbackPort()}`;
  installTemporalRuntime(createLogger({ process: 'test', level: 'silent' }), sdkMetrics);
  await endpoint.setTarget('worker', 'rendered-worker-1');
  hosts = await startHosts(endpoint, temporal, {
    nodes: NODE_NAMES,
    firstBoot: 'rendered-worker-1',
    rebootSeconds: 0.5,
    failures: [{ node: 'worker-1', at: 'boot', times: 1 }],
  });
  await endpoint.setTarget('worker', 'rendered-worker-2');
});

afterAll(async () => {
  await hosts?.stop();
  await client?.connection.close();
  await temporal?.stop();
  await endpoint?.stop();
});

/** Gives an order to the host through its queue, as a workflow does. */
async function give<Step extends HostStep>(
  step: Step,
  node: string,
  more: MoreOfOrder = {},
): Promise<Awaited<ReturnType<HostActivities[Step]>>> {
  return hand(step, node, signedOrder(anOrder(step, node, more)));
}

type MoreOfOrder = Partial<HostOrder> & { readonly rebootedFrom?: string };

function anOrder(step: HostStep, node: string, more: MoreOfOrder = {}): HostOrder {
  if (step === 'prepareUpdate') runs.set(node, (runs.get(node) ?? 0) + 1);
  const order: HostOrder & { readonly reconnectSeconds: number } = {
    orderId: `${updateNodeId(node)}/run-${runs.get(node) ?? 0}/${step}`,
    step,
    node,
    pool: { name: 'worker', uid: 'pool-worker', generation: 1 },
    config: second,
    disruptionPolicies: {},
    issuedAt: new Date().toISOString(),
    notAfter: new Date(Date.now() + 600_000).toISOString(),
    reconnectSeconds: 600,
  };
  return { ...order, ...more };
}

/** As whoever may write to Temporal can do it. */
async function hand<Step extends HostStep>(
  step: Step,
  node: string,
  argument: unknown,
): Promise<Awaited<ReturnType<HostActivities[Step]>>> {
  given += 1;
  const handle = await client.activity.start<Awaited<ReturnType<HostActivities[Step]>>>(step, {
    id: `${step}-${given}`,
    taskQueue: hostQueue(node),
    args: [argument],
    startToCloseTimeout: '30s',
    scheduleToCloseTimeout: '60s',
    heartbeatTimeout: '10s',
    retry: { initialInterval: '200ms', maximumInterval: '1s' },
  });
  return handle.result();
}

const motd = (node: string) => readFileSync(join(hosts.directory, node, 'etc/motd'), 'utf8');

async function reportedBoot(node: string) {
  const { status } = await endpoint.kube.admin.get(NODES, { name: node });
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return { bootId: status?.nodeInfo?.bootID, ready };
}

async function openPolls(): Promise<Readonly<Record<string, number>>> {
  const text = await (await fetch(`http://${sdkMetrics}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith('temporal_num_pollers{'));
  const named = (line: string, label: string) => new RegExp(`${label}="([^"]*)"`).exec(line)?.[1];
  return Object.fromEntries(
    lines.map((line) => [
      `${named(line, 'poller_type')} ${named(line, 'task_queue')}`,
      Number(line.split(' ').at(-1)),
    ]),
  );
}

const older = { pool: { name: 'worker', uid: 'pool-worker', generation: 0 } };

/** Every file of a host, with the time of its last write. */
function treeOf(node: string): Readonly<Record<string, number>> {
  const root = join(hosts.directory, node);
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [
      join(parentPath, name),
      statSync(join(parentPath, name)).mtimeMs,
    ]),
  );
}

/** The catalogue name with which an order failed. */
async function failureOf(attempt: Promise<unknown>): Promise<string | undefined> {
  const error: unknown = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return causeOf(error).type ?? undefined;
}

function causeOf(error: unknown): ApplicationFailure {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof ApplicationFailure) return at;
  }
  throw new Error('it did not fail with a name', { cause: error });
}

describe('simulated hosts on a real Temporal server', () => {
  it('boot with their first config', () => {
    expect(NODE_NAMES.map((node) => hosts.configOf(node))).toEqual(
      NODE_NAMES.map(() => 'rendered-worker-1'),
    );
    expect(motd('worker-0')).toBe('one');
  });

  it('keep one poll open each, for activities alone', async () => {
    await eventually(async () => {
      expect(await openPolls()).toEqual(
        Object.fromEntries(NODE_NAMES.map((node) => [`activity_task ${hostQueue(node)}`, 1])),
      );
    });
  });

  it('go through a whole update, with a reboot and a new boot ID', async () => {
    const prepared = await give('prepareUpdate', 'worker-0');
    expect(prepared).toMatchObject({ alreadyOnTarget: false, plan: { reboot: true } });
    await give('applyUpdate', 'worker-0');
    const { bootId } = await give('armReboot', 'worker-0');

    const verified = await give('verifyUpdate', 'worker-0', {
      ...{ rebootedFrom: bootId, commitWithinSeconds: 1_200 },
    });
    await give('commitUpdate', 'worker-0');

    expect(verified.bootId).not.toBe(bootId);
    expect(motd('worker-0')).toBe('two');
    await eventually(async () => {
      expect(await reportedBoot('worker-0')).toMatchObject({
        bootId: verified.bootId,
        ready: { status: 'True', reason: 'SimulatedReboot' },
      });
    });
    expect(await give('prepareUpdate', 'worker-0')).toMatchObject({ alreadyOnTarget: true });
  });

  it('come back on the old config when the boot goes wrong', async () => {
    await give('prepareUpdate', 'worker-1');
    await give('applyUpdate', 'worker-1');
    const armed = await give('armReboot', 'worker-1');
    expect(await failureOf(give('verifyUpdate', 'worker-1', { rebootedFrom: armed.bootId }))).toBe(
      'WrongDeployment',
    );

    const back = await give('goBack', 'worker-1');
    await give('verifyBack', 'worker-1');

    // The boot loader fell back to the old deployment, whose files were undone at once.
    expect(back.rebooting).toBe(false);
    expect(motd('worker-1')).toBe('one');
    expect(existsSync(join(hosts.directory, 'worker-1/var/lib/slipway/desired.json'))).toBe(false);
  });

  it('refuse what is not for them, is too late, or is not what was ordered', async () => {
    const wrongNode = give('prepareUpdate', 'worker-2', { node: 'worker-0' });
    expect(await failureOf(wrongNode)).toBe('OrderRefused');
    const late = give('prepareUpdate', 'worker-2', { notAfter: '2020-01-01T00:00:00Z' });
    expect(await failureOf(late)).toBe('OrderRefused');
    const other = { ...second, digest: first.digest };
    expect(await failureOf(give('prepareUpdate', 'worker-2', { config: other }))).toBe(
      'DigestMismatch',
    );
    expect(motd('worker-2')).toBe('one');
  });

  it('obey nobody but who has the key of the cluster, each order once and in its turn, and say why', async () => {
    const thief = new OrderSigningKey(firstOrderKey());
    const prepare = anOrder('prepareUpdate', 'worker-2');
    const signed = signedOrder(prepare);
    await hand('prepareUpdate', 'worker-2', signed);
    const before = treeOf('worker-2');

    const refusals: readonly [HostStep, unknown, RegExp][] = [
      ['applyUpdate', { order: anOrder('applyUpdate', 'worker-2') }, /is not signed/],
      ['applyUpdate', anOrder('applyUpdate', 'worker-2'), /is not signed/],
      ['applyUpdate', signedOrder(anOrder('applyUpdate', 'worker-2'), thief), /and worker-2 knows/],
      ['applyUpdate', signed, /is to prepareUpdate, and came as applyUpdate/],
      ['goBack', signedOrder(anOrder('goBack', 'worker-0')), /is for worker-0, this is worker-2/],
      [
        'armReboot',
        signedOrder({
          ...anOrder('armReboot', 'worker-2'),
          orderId: `${updateNodeId('worker-2')}/other/armReboot`,
        }),
        /out of turn/,
      ],
      [
        'prepareUpdate',
        signedOrder(anOrder('prepareUpdate', 'worker-2', { ...older, config: first })),
        /of generation 0 of pool worker, and worker-2 has accepted 1/,
      ],
      [
        'prepareUpdate',
        signedOrder(
          anOrder('prepareUpdate', 'worker-2', { pool: { ...older.pool, uid: 'other' } }),
        ),
        /has not heard that it moves/,
      ],
    ];
    for (const [step, argument, because] of refusals) {
      const refusal: unknown = await hand(step, 'worker-2', argument).catch(
        (error: unknown) => error,
      );
      expect(causeOf(refusal)).toMatchObject({
        type: 'OrderRefused',
        message: expect.stringMatching(because) as string,
      });
    }
    // The order that was obeyed is answered again, and does nothing.
    expect(await hand('prepareUpdate', 'worker-2', signed)).toMatchObject({
      alreadyOnTarget: false,
    });
    expect(treeOf('worker-2')).toEqual(before);
  });
});

const DIRECT = 'this host talks to Temporal itself';

describe('a host worker that starts while Temporal is away', () => {
  it('waits, says so once, and takes orders when Temporal is there; the others go on', async () => {
    const lines: { readonly level: string; readonly msg: string; readonly server?: string }[] = [];
    const destination = new PassThrough().on('data', (line: Buffer) => {
      lines.push(JSON.parse(line.toString()) as (typeof lines)[number]);
    });
    await endpoint.setTarget('worker', 'rendered-worker-1');
    await temporal.kill();
    const starting = startHosts(endpoint, temporal, {
      nodes: [LATE],
      firstBoot: 'rendered-worker-1',
      log: createLogger({ process: 'test', level: 'debug', destination }),
    });
    try {
      await eventually(() => {
        expect(lines.map(({ msg }) => msg)).toContain('still waiting for server');
      });

      await temporal.restart();

      const late = await starting;
      const server = `Temporal at ${temporal.address}`;
      const said = lines.filter((line) => line.server === server && line.level !== 'debug');
      expect(lines.filter(({ msg }) => msg.startsWith(DIRECT))).toHaveLength(1);
      expect(said.map(({ level, msg }) => [level, msg])).toEqual([
        ['warn', 'waiting for server'],
        ['warn', 'the connection is not encrypted'],
        ['info', 'server answers'],
      ]);
      expect(late.configOf(LATE)).toBe('rendered-worker-1');
      await endpoint.setTarget('worker', 'rendered-worker-2');
      expect(await give('prepareUpdate', LATE)).toMatchObject({ alreadyOnTarget: false });
      expect(await give('prepareUpdate', 'worker-0')).toMatchObject({ alreadyOnTarget: true });
    } finally {
      await starting.then((late) => late.stop());
    }
  });
});
