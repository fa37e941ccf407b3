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
import type { NodeStatus, RolloutAnswer } from '../../../workflows/messages';

const PREFIX = 'machineconfiguration.openshift.io';
const ANSWER = {} as RolloutAnswer;

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
const skipped = aNode({ 'slipway.dev/held-for': 'b', 'slipway.dev/held-reason': 'skipped' });

/** As its kubelet registers it, not Ready, without a config. */
const again: Node = {
  ...aNode({}),
  status: { conditions: [{ type: 'Ready', status: 'False', reason: '', message: '' }] },
};

/**
 * A cluster with one node, and a Temporal with a rollout that starts later, or runs already when there are answers
 * of the update of the node; the last answer repeats.
 */
function given(
  node: Node,
  updates: (NodeStatus | PausedInTemporal)[] = [],
  hostWorker?: HostWorkerRecord,
) {
  const asked: string[] = [];
  let runs = false;
  const out: string[] = [];
  const err: string[] = [];
  const stream = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const cluster: Partial<CliCluster> = {
    read: () =>
      Promise.resolve({
        pools: [POOL],
        nodes: [node],
        machineConfigNodes: new Map(),
        policies: [],
      }),
    clearRolloutCancelled: async (pool) => void asked.push(`clear ${pool}`),
  };
  const temporal: Partial<CliTemporal> = {
    start: async (pool, config) => {
      asked.push(`start ${pool} ${config}`);
      runs = true;
      return ANSWER;
    },
    node: async (verb, pool, request) => {
      asked.push(`${verb} ${pool} ${request.node}`);
      return runs || updates.length > 0 ? ANSWER : undefined;
    },
    hostWorker: () => Promise.resolve(hostWorker),
    nodeStatus: () => Promise.resolve(updates.length > 1 ? updates.shift() : updates[0]),
  };
  const streams = { out: stream(out), err: stream(err) } as unknown as Parameters<
    typeof openTerminal
  >[0];
  const context: CliContext = {
    terminal: openTerminal(streams, { color: false, env: {} }),
    now: () => 0,
    signal: new AbortController().signal,
    user: undefined,
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.resolve(temporal as CliTemporal),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
  };
  return { context, asked, out, err };
}

describe('node retry without a rollout', () => {
  it.each([
    ['failed', failed],
    ['skipped', skipped],
    ['registered again', again],
  ])('starts one for a %s node and tells it', async (_what, node) => {
    const { context, asked } = given(node);

    await expect(nodeRequest(context, 'retry', 'n1', undefined)).resolves.toBe(EXIT.OK);

    expect(asked).toEqual([
      'retryNode worker n1',
      'clear worker',
      'start worker b',
      'retryNode worker n1',
    ]);
  });

  it('refuses a node that has nothing to retry, and starts none', async () => {
    const { context, asked } = given(done);

    await expect(nodeRequest(context, 'retry', 'n1', undefined)).rejects.toEqual(
      cliError(EXIT.FAILED, 'n1 is neither failed nor held on b: nothing to retry'),
    );

    expect(asked).toEqual(['retryNode worker n1']);
  });
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

it.each(['skip', 'cancel'] as const)('%s without a rollout is not found', async (verb) => {
  const { context } = given(failed);

  await expect(nodeRequest(context, verb, 'n1', undefined)).rejects.toEqual(
    cliError(EXIT.NOT_FOUND, 'no rollout of pool worker runs'),
  );
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
    const { context, out } = given(done, [], hostWorker);

    await expect(nodeStatus(context, 'n1', 'table')).resolves.toBe(EXIT.OK);

    expect(out.join('')).toMatch(new RegExp(`Host worker: +${says}`));
  });

  it('says that the update is paused in Temporal', async () => {
    const { context, out } = given(done, [{ pausedInTemporal: 'update-node/n1 is paused' }]);

    await expect(nodeStatus(context, 'n1', 'table')).resolves.toBe(EXIT.OK);

    expect(out.join('')).toMatch(/Update: +update-node\/n1 is paused\n/);
  });
});
