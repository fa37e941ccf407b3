import { planPool } from '../../../cli/commands/plan';
import type { CliCluster, CliContext } from '../../../cli/ports';
import { makeStyle } from '../../../cli/terminal';
import { policyInForce } from '../../../core/disruption';
import { fail } from '../../../core/errors';
import type { MachineConfig } from '../../../core/machine-config/types';
import { ANNOTATION } from '../../../core/names';
import type { Pod, PodDisruptionBudget } from '../../../core/drain';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import { markOf } from '../../../core/node/turn';
import type { MachineConfigPool, RolloutPolicySpec } from '../../../core/pool/types';
import { aView } from './cluster-view';
import { rendered } from './rendered-config';

const NODE: Node = {
  metadata: {
    name: 'n1',
    labels: { 'node-role.kubernetes.io/worker': '' },
    annotations: {
      [ANNOTATION.CURRENT_CONFIG]: 'old',
      [ANNOTATION.DESIRED_CONFIG]: 'old',
      [ANNOTATION.STATE]: 'Done',
    },
  },
  spec: {},
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};

const EMPTY = { ignition: { version: '3.2.0' } };

/** In no pool; makes a cluster of more than one node. */
const ELSEWHERE: Node = { metadata: { name: 'elsewhere' } };

const POOL: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: {
    configuration: { name: 'new' },
    nodeSelector: { matchLabels: { 'node-role.kubernetes.io/worker': '' } },
  },
};

function aPodOf(daemonSet: string): Pod {
  return {
    metadata: {
      name: `${daemonSet}-1`,
      namespace: 'shop',
      labels: { app: 'agent' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'DaemonSet', name: daemonSet, uid: 'u', controller: true },
      ],
    },
    spec: { nodeName: 'n1' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

const BUDGET: PodDisruptionBudget = {
  metadata: { name: 'agents', namespace: 'shop' },
  spec: { selector: { matchLabels: { app: 'agent' } } },
  status: { disruptionsAllowed: 0 },
};

async function planWith(cluster: Partial<CliCluster>): Promise<{ blockers: readonly string[] }> {
  return JSON.parse(await printedPlan(cluster, 'json')) as { blockers: readonly string[] };
}

async function printedPlan(
  cluster: Partial<CliCluster>,
  output: 'json' | 'table',
): Promise<string> {
  let text = '';
  const out = { write: (more: string) => (text += more) };
  const whole: Partial<CliCluster> = {
    read: async () => aView({ pools: [POOL], nodes: [NODE, ELSEWHERE] }),
    machineConfig: async (name) => rendered(name),
    disruptionPolicy: async () => ({ policy: {}, problems: [] }),
    budgets: async () => [BUDGET],
    ...cluster,
  };
  const context = {
    terminal: { out, err: out, live: false, style: makeStyle(false) },
    now: () => 0,
    cluster: async () => whole as CliCluster,
  } as unknown as CliContext;
  await planPool(context, 'worker', output);
  return text;
}

it('predicts that a pod whose DaemonSet is gone is held by its budget, and leaves the others out', async () => {
  const { blockers } = await planWith({
    pods: async () => [aPodOf('alive'), aPodOf('gone')],
    daemonSets: async () => ['shop/alive', 'elsewhere/gone'],
  });

  expect(blockers).toEqual([expect.stringContaining('shop/gone-1')]);
  expect(blockers[0]).toContain('budget shop/agents');
  expect(blockers[0]).not.toContain('shop/alive-1');
});

it('predicts nothing for pods of DaemonSets that are there', async () => {
  const { blockers } = await planWith({
    pods: async () => [aPodOf('alive')],
    daemonSets: async () => ['shop/alive'],
  });

  expect(blockers).toEqual([]);
});

it('drains nothing in a cluster of one node, and says so', async () => {
  const cluster = (more: readonly Node[]): Partial<CliCluster> => ({
    read: async () => aView({ pools: [POOL], nodes: [NODE, ...more] }),
    pods: async () => [aPodOf('gone')],
    daemonSets: async () => [],
  });
  const said =
    'no drain: the only node of the cluster, so its pods stay until the machine shuts down';

  expect(await planWith(cluster([]))).toMatchObject({ noDrain: said, blockers: [] });
  expect(await printedPlan(cluster([]), 'table')).toContain(said);
  expect(await planWith(cluster([ELSEWHERE]))).not.toHaveProperty('noDrain');
});

it('says which MachineConfigs are not in it, instead of that there is nothing to do', async () => {
  const message = 'Failed to render configuration for pool worker: MachineConfig 70: no version';
  const condition = { type: 'RenderDegraded', status: 'True', reason: 'x', message };
  const done: Node = {
    ...NODE,
    metadata: {
      ...NODE.metadata,
      annotations: {
        [ANNOTATION.CURRENT_CONFIG]: 'new',
        [ANNOTATION.DESIRED_CONFIG]: 'new',
        [ANNOTATION.STATE]: 'Done',
      },
    },
  };
  const pool = { ...POOL, status: { conditions: [condition] } } as MachineConfigPool;
  const read = async () => aView({ pools: [pool], nodes: [done] });

  expect(await planWith({ read })).toMatchObject({ notRendered: message });
  expect((await printedPlan({ read }, 'table')).split('\n').slice(1, 3)).toEqual([
    '1 of 1 nodes are on it; at most 1 unavailable at once',
    `the target is older than the MachineConfigs: ${message}`,
  ]);
});

describe('the rule that decided', () => {
  const withFiles = (name: string, ...paths: readonly string[]): MachineConfig => {
    const files = paths.map((path) => ({ path, contents: { source: 'data:,x' } }));
    const { spec } = rendered('same');
    return { metadata: { name }, spec: { ...spec, config: { ...EMPTY, storage: { files } } } };
  };
  const actions = [{ type: 'Restart', restart: { serviceName: 'chronyd.service' } }];
  const aCluster = (nodeDisruptionPolicy: unknown, status = {}): Partial<CliCluster> => ({
    machineConfig: async (name) =>
      name === 'new'
        ? withFiles(name, '/etc/chrony.conf', '/etc/other', '/etc/crio/policies/a.json')
        : withFiles(name),
    disruptionPolicy: async () =>
      policyInForce({ metadata: { name: 'cluster' }, spec: { nodeDisruptionPolicy }, status }),
    pods: async () => [],
    daemonSets: async () => [],
  });
  const own = { files: [{ path: '/etc/chrony.conf', actions }] };
  const linesOf = async (cluster: Partial<CliCluster>): Promise<readonly string[]> =>
    (await printedPlan(cluster, 'table')).split('\n');

  it('is named for each change', async () => {
    expect((await linesOf(aCluster(own))).filter((line) => line.startsWith('    '))).toEqual([
      '    file /etc/chrony.conf changed: restart chronyd.service (MachineConfiguration cluster, files[0]: /etc/chrony.conf)',
      '    file /etc/crio/policies/a.json changed: reload crio.service (default of the cluster: /etc/crio/policies)',
      '    file /etc/other changed: reboot (no disruption policy covers it)',
    ]);
  });

  it('is in the JSON, with its field', async () => {
    const plan: unknown = await planWith(aCluster(own));

    expect(plan).not.toHaveProperty('wrongPolicies');
    expect(plan).toMatchObject({
      groups: [
        {
          plan: {
            changes: [
              {
                rule: {
                  from: 'MachineConfiguration',
                  field: 'spec.nodeDisruptionPolicy.files[0]',
                  covers: '/etc/chrony.conf',
                },
              },
              { rule: { from: 'Default', covers: '/etc/crio/policies' } },
              { rule: { from: 'NoPolicy' } },
            ],
          },
        },
      ],
    });
  });

  it('is of the last valid policies while the present ones are wrong, which it says', async () => {
    const wrong = { files: [...own.files, { path: 'etc/other', actions }] };
    const clusterPolicies = { files: own.files };
    const cluster = aCluster(wrong, { nodeDisruptionPolicyStatus: { clusterPolicies } });
    const lines = await linesOf(cluster);

    expect(lines[2]).toBe(
      'earlier disruption policies are in force: MachineConfiguration cluster: spec.nodeDisruptionPolicy.files[1].path: path must be absolute; begin it with /',
    );
    expect(lines.join()).toContain('files[0] of its status: /etc/chrony.conf');
    expect(await planWith(cluster)).toMatchObject({
      wrongPolicies: expect.stringContaining('files[1].path') as string,
    });
  });
});

it('says which hosts are no machines', async () => {
  const simulated: Node = {
    ...NODE,
    status: { ...NODE.status, nodeInfo: { osImage: 'Simulated host (Slipway)' } },
  };
  const read = async () => aView({ pools: [POOL], nodes: [simulated] });

  const cluster = {
    read,
    pods: async () => [],
    budgets: async () => [],
    daemonSets: async () => [],
  };
  expect(await planWith(cluster)).toMatchObject({ machineCount: 1, simulatedCount: 1 });
  expect((await printedPlan(cluster, 'table')).split('\n')[1]).toMatch(/; all hosts simulated$/);
});

describe('a control plane', () => {
  const master = (name: string, isReady = true): Node => ({
    metadata: {
      ...NODE.metadata,
      name,
      labels: { 'node-role.kubernetes.io/control-plane': 'true', ...NODE.metadata.labels },
    },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  });
  const three: MachineConfigPool = { ...POOL, spec: { ...POOL.spec, maxUnavailable: 3 } };
  const clusterOf = (nodes: readonly Node[], pool = three): Partial<CliCluster> => ({
    read: async () => aView({ pools: [pool], nodes }),
    pods: async () => [],
    budgets: async () => [],
    daemonSets: async () => [],
  });

  it('rolls no more nodes at once than its quorum allows, and says so', async () => {
    const cluster = clusterOf(['a', 'b', 'c'].map((name) => master(name)));

    expect((await printedPlan(cluster, 'table')).split('\n').slice(1, 3)).toEqual([
      '0 of 3 nodes are on it; at most 1 unavailable at once',
      'at most 1 of 3 control-plane nodes at once, so that etcd keeps its quorum, whatever maxUnavailable says',
    ]);
    expect(await planWith(cluster)).toMatchObject({ maxUnavailable: 1 });
  });

  it('says nothing of it where the pool allows no more anyway', async () => {
    const cluster = clusterOf([master('a'), NODE], POOL);

    expect(await planWith(cluster)).not.toHaveProperty('controlPlane');
  });

  it('blocks while another pool has one of it out', async () => {
    const away: Node = {
      ...master('c', false),
      metadata: { name: 'c', labels: { 'node-role.kubernetes.io/master': '' } },
    };

    expect(await planWith(clusterOf([master('a'), master('b'), away], POOL))).toMatchObject({
      blocker: expect.stringContaining(
        'waiting for room: at most 1 of 3 control-plane nodes at once; out of service: c',
      ) as unknown,
    });
  });
});

describe('what would block', () => {
  const NOT_READY: Node = {
    ...NODE,
    metadata: { ...NODE.metadata, name: 'n2' },
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  };
  const CORDONED: Node = { ...NODE, spec: { unschedulable: true } };
  const withSpec = (spec: Partial<MachineConfigPool['spec']>): MachineConfigPool => ({
    ...POOL,
    spec: { ...POOL.spec, ...spec },
  });

  async function blockerOf(
    pool: MachineConfigPool,
    nodes: readonly Node[],
    more: Partial<CliCluster> = {},
  ): Promise<string | undefined> {
    const read = async () => aView({ pools: [pool], nodes });
    const plan = await planWith({
      read,
      pods: async () => [],
      daemonSets: async () => [],
      ...more,
    });
    return (plan as { blocker?: string }).blocker;
  }

  it.each([
    ['a pause', withSpec({ paused: true }), [NODE], 'pool worker is paused; resume it to go on'],
    ['no room', POOL, [NODE, NOT_READY], 'no room: 1 node of at most 1 out of service: n2'],
    ['a cordon', POOL, [CORDONED], 'nothing is left to start; 1 node cannot be taken now: n1'],
    ['an unready node', POOL, [NOT_READY], '1 node cannot be taken now: n2 (not Ready)'],
    ['an empty selector', withSpec({ nodeSelector: {} }), [NODE], 'spec.nodeSelector is empty'],
    [
      'an invalid selector',
      withSpec({ nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }),
      [NODE],
      'spec.nodeSelector: invalid label selector',
    ],
  ])('names %s', async (_name, pool, nodes, sentence) => {
    expect(await blockerOf(pool, nodes)).toContain(sentence);
  });

  it('names a rendered config that does not exist', async () => {
    const blocker = await blockerOf(POOL, [NODE], {
      machineConfig: async () => {
        throw fail('ObjectNotFound', 'get MachineConfig new: not found');
      },
    });

    expect(blocker).toContain('rendered config new of the pool does not exist');
  });

  it('is nothing when a node could start', async () => {
    expect(await blockerOf(POOL, [NODE])).toBeUndefined();
  });

  it('is told as if a person had started the rollout', async () => {
    const cancelled: MachineConfigPool = {
      ...withSpec({ paused: true }),
      metadata: { name: 'worker', annotations: { [ANNOTATION.ROLLOUT_CANCELLED]: 'new' } },
    };
    const policy = (spec: RolloutPolicySpec) => ({
      read: async () =>
        aView({ pools: [POOL], nodes: [NODE], policies: [{ metadata: POOL.metadata, spec }] }),
    });

    expect(await blockerOf(cancelled, [NODE])).toContain('pool worker is paused');
    expect(await blockerOf(POOL, [NODE], policy({ trigger: 'Manual' }))).toBeUndefined();
    expect(await blockerOf(POOL, [NODE], policy({ failureThreshold: 0 }))).toContain(
      'failureThreshold',
    );
  });
});

it('begins with the nodes whose update runs', async () => {
  const run = { id: 'r1', startedAt: '2026-03-01T12:00:00Z' };
  const annotations = { ...NODE.metadata.annotations, [ANNOTATION.UPDATE_RUN]: markOf(run) };
  const taken: Node = { ...NODE, metadata: { ...NODE.metadata, name: 'n2', annotations } };
  const cluster = {
    read: async () => aView({ pools: [POOL], nodes: [NODE, taken] }),
    pods: async () => [],
    daemonSets: async () => [],
  };

  expect(await planWith(cluster)).toMatchObject({ order: ['n2', 'n1'] });
  expect(await planWith(cluster)).not.toHaveProperty('blocker');
});

it('names other programs that would update machines of the pool, of all nodes together', async () => {
  const message = 'zincati.service would update or reboot this machine beside Slipway';
  const conditions = [
    { type: 'ForeignUpdater', status: 'True', reason: 'UpdaterEnabled', message },
  ];
  const names = ['n1', 'n2', 'n3', 'n4'];
  const view = aView({
    pools: [POOL],
    nodes: names.map((name) => ({ ...NODE, metadata: { ...NODE.metadata, name } })),
    // A MachineConfigNode of another pool does not count.
    machineConfigNodes: new Map(
      ['n1', 'n2', 'n3', 'master-1'].map((name) => [
        name,
        {
          metadata: { name },
          spec: {
            node: { name },
            pool: { name: 'worker' },
            configVersion: { desired: 'new' },
          },
          status: { conditions },
        } as MachineConfigNode,
      ]),
    ),
  });
  const read = async () => view;
  const cluster = { read, pods: async () => [], daemonSets: async () => [] };

  expect(await planWith(cluster)).toMatchObject({
    foreignUpdaters: [{ nodes: ['n1', 'n2', 'n3'], message }],
  });
  expect(await printedPlan(cluster, 'table')).toMatch(
    /have other updaters\n {2}n1\S*.*: zincati\.service would update or reboot/,
  );
});
