import { nodeRequest, nodeStatus } from '../../../cli/commands/node';
import { cliError, EXIT } from '../../../cli/exit-codes';
import type {
  CliCluster,
  CliContext,
  CliTemporal,
  HostWorkerRecord,
  PausedInTemporal,
} from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { StepResult } from '../../../workflows/contracts/rollout';
import type { NodeStatus } from '../../../workflows/contracts/update';
import { aStepResult, aView, NO_DOCTOR, NO_STREAMS, NO_SUPPORT } from './cluster-view';

const PREFIX = 'machineconfiguration.openshift.io';

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: { configuration: { name: 'b' }, nodeSelector: { matchLabels: { role: 'worker' } } },
};

function aNode(annotations: Readonly<Record<string, string>>): Node {
  return {
    metadata: { name: 'n1', labels: { role: 'worker' }, annotations },
    status: { conditions: [{ type: 'Ready', status: 'True', reason: '', message: '' }] },
  };
}
const failed = aNode({
  [`${PREFIX}/currentConfig`]: 'a',
  [`${PREFIX}/desiredConfig`]: 'b',
  [`${PREFIX}/state`]: 'Degraded',
});
const done = aNode({
  [`${PREFIX}/currentConfig`]: 'b',
  [`${PREFIX}/desiredConfig`]: 'b',
  [`${PREFIX}/state`]: 'Done',
});

/** A cluster with one node, and answers of the update of the node; the last one repeats. */
function given(
  node: Node,
  updates: (NodeStatus | PausedInTemporal)[] = [],
  more: { readonly hostWorker?: HostWorkerRecord; readonly answer?: StepResult } = {},
) {
  const asked: string[] = [];
  const out: string[] = [];
  const err: string[] = [];
  const stream = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const cluster: Partial<CliCluster> = {
    read: () => Promise.resolve(aView({ pools: [POOL], nodes: [node] })),
  };
  const temporal: Partial<CliTemporal> = {
    node: async (verb, pool, request) => {
      asked.push(`${verb} ${pool} ${request.node}`);
      return more.answer ?? aStepResult();
    },
    hostWorker: () => Promise.resolve(more.hostWorker),
    nodeStatus: () => Promise.resolve(updates.length > 1 ? updates.shift() : updates[0]),
  };
  const streams = { out: stream(out), err: stream(err) } as unknown as Parameters<
    typeof openTerminal
  >[0];
  const context: CliContext = {
    terminal: openTerminal(streams, { color: false, env: {} }),
    now: () => 0,
    signal: new AbortController().signal,
    user: () => Promise.resolve(undefined),
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.resolve(temporal as CliTemporal),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
    doctor: NO_DOCTOR,
    support: NO_SUPPORT,
    streams: NO_STREAMS,
  };
  return { context, asked, out, err };
}

describe('node retry', () => {
  it('is told to the rollout', async () => {
    const { context, asked, err } = given(failed);

    await expect(nodeRequest(context, 'retry', 'n1', undefined)).resolves.toBe(EXIT.OK);

    expect(asked).toEqual(['retryNode worker n1']);
    expect(err.join('')).toBe('node n1 will be tried again\n');
  });

  it.each(['cancelled', 'not started'] as const)(
    'says that the rollout has to be started, where it is %s',
    async (ended) => {
      const { context, err } = given(failed, [], { answer: aStepResult({ ended }) });

      await expect(nodeRequest(context, 'retry', 'n1', undefined)).resolves.toBe(EXIT.OK);

      expect(err.join('')).toContain('no node starts: slipway rollout start worker\n');
    },
  );
});

describe.each([
  ['skip', 'is skipped until'],
  ['cancel', 'is being cancelled'],
] as const)('node %s', (verb, done) => {
  const applying: NodeStatus = {
    node: 'n1',
    pool: 'worker',
    config: 'b',
    phase: 'Applying',
    since: '2030-01-01T00:00:00Z',
    pastPointOfNoReturn: false,
  };
  const rebooting: NodeStatus = { ...applying, phase: 'Rebooting', pastPointOfNoReturn: true };
  const tooLate = cliError(
    EXIT.FAILED,
    `too late to ${verb}: node n1 reboots into b; it keeps that config when it is verified there, and rolls back otherwise`,
  );

  it('is told to the rollout before the reboot', async () => {
    const { context, asked, err } = given(failed, [applying]);

    await expect(nodeRequest(context, verb, 'n1', undefined)).resolves.toBe(EXIT.OK);

    expect(asked).toEqual([`${verb}Node worker n1`]);
    expect(err.join('')).toContain(done);
  });

  it('is refused once the machine reboots', async () => {
    const { context, asked } = given(failed, [rebooting]);

    await expect(nodeRequest(context, verb, 'n1', undefined)).rejects.toEqual(tooLate);

    expect(asked).toEqual([]);
  });

  it('is said to be too late when the reboot came first after all', async () => {
    const { context, err } = given(failed, [applying, rebooting]);

    await expect(nodeRequest(context, verb, 'n1', undefined)).rejects.toEqual(tooLate);

    expect(err).toEqual([]);
  });
});

it('skips the config that comes after the one into which the machine reboots', async () => {
  const { context, asked } = given(failed, [
    {
      ...{ node: 'n1', pool: 'worker', config: 'a', phase: 'Rebooting' },
      since: '2030-01-01T00:00:00Z',
      pastPointOfNoReturn: true,
    },
  ]);

  await expect(nodeRequest(context, 'skip', 'n1', undefined)).resolves.toBe(EXIT.OK);

  expect(asked).toEqual(['skipNode worker n1']);
});

describe('node status', () => {
  const askedAt = '1969-12-31T23:59:30.000Z';

  it.each([
    {
      name: 'labels a simulated host worker',
      hostWorker: { identity: 'SIMULATED-host@n1', askedAt, simulated: true as const },
      says: 'SIMULATED-host@n1, asked for work 30s ago, simulated: no machine is behind it\n',
    },
    {
      name: 'names the host worker of a machine',
      hostWorker: { identity: 'slipway-host@n1', askedAt },
      says: 'slipway-host@n1, asked for work 30s ago\n',
    },
    {
      name: 'says that there is no host worker',
      hostWorker: undefined,
      says: 'none has asked for work lately\n',
    },
  ])('$name', async ({ hostWorker, says }) => {
    const { context, out } = given(done, [], hostWorker === undefined ? {} : { hostWorker });

    await expect(nodeStatus(context, 'n1', 'table')).resolves.toBe(EXIT.OK);

    expect(out.join('')).toMatch(new RegExp(`Host worker: +${says}`));
  });

  it('says that the update is paused in Temporal', async () => {
    const { context, out } = given(done, [{ pausedInTemporal: 'update-node/n1 is paused' }]);

    await expect(nodeStatus(context, 'n1', 'table')).resolves.toBe(EXIT.OK);

    expect(out.join('')).toMatch(/Update: +update-node\/n1 is paused\n/);
  });
});
