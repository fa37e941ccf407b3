/**
 * Breaks one promise after the other with Slipway's certificate in a real cluster; the observer
 * must name each. No part of the product runs.
 */

import { chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node';
import { createNodes, startCluster, type Cluster } from '../../tools/cluster';
import { observeInOwnProcess, type ObserverProcess } from '../observer/own-process';
import { freePorts } from '../../tools/processes/free-ports';
import { manifestsWith, type Manifests } from '../../tools/stack/manifests';
import { describeViolation } from '../observer/violation';
import { startTemporal, type TemporalServer } from '../../tools/temporal';
import { machineConfig, plainFile, withOsImage } from '../e2e/support/configs';
import { CURRENT_CONFIG_FILE, judgeDisks, wrongOnDisk } from '../e2e/support/disk-at-rest';
import { renderedConfigs } from '../e2e/support/rendered-config';
import { withWaitingUpdates } from './support/waiting-updates';

const START_MS = 240_000;
const STORY_MS = 60_000;
/** The observer waits a minute before it reports a silent update. */
const SILENT_STORY_MS = 240_000;
const GROUP = 'machineconfiguration.openshift.io';
const CURRENT_CONFIG = `${GROUP}/currentConfig`;
const CONFIG = 'rendered-worker-1';
const NEXT_CONFIG = 'rendered-worker-2';
const SLIPWAY = 'slipway-cluster-worker';
const WORKER = { 'node-role.kubernetes.io/worker': '' };

let cluster: Cluster;
let temporal: TemporalServer;
let judge: ObserverProcess;
let slipway: KubernetesObjectApi;
let manifests: Manifests;

beforeAll(async () => {
  [cluster, temporal] = await Promise.all([
    startCluster({ audit: true }),
    startTemporal({ ui: false }),
  ]);
  manifests = manifestsWith(cluster.adminKubeconfig);
  await manifests.applyFiles('deploy/crds');
  await manifests.applyObject(allowedEverything());
  await createNodes(
    cluster,
    ['worker-0', 'worker-1', 'worker-2'].map((name) => ({
      name,
      labels: WORKER,
      annotations: {
        [CURRENT_CONFIG]: CONFIG,
        [`${GROUP}/desiredConfig`]: CONFIG,
        [`${GROUP}/state`]: 'Done',
      },
    })),
  );
  slipway = clientOf(await cluster.kubeconfigFor({ commonName: SLIPWAY }));
  const { auditLog } = cluster;
  judge = await observeInOwnProcess({
    kubeconfig: cluster.adminKubeconfig,
    nodeSelector: 'node-role.kubernetes.io/worker',
    pool: 'worker',
    maxUnavailable: 1,
    // No product runs that could correct anything.
    restMs: 2_000,
    ...(auditLog === undefined ? {} : { auditLog }),
  });
}, START_MS);

afterAll(async () => {
  await judge?.stop();
  await temporal?.stop();
  await cluster?.stop();
}, START_MS);

function clientOf(kubeconfig: string): KubernetesObjectApi {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return KubernetesObjectApi.makeApiClient(config);
}

/** No manifest of Slipway allows these requests. */
function allowedEverything() {
  const role = {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: 'cluster-admin',
  };
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'slipway-may-everything' },
    roleRef: role,
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: SLIPWAY }],
  };
}

const person = (node: string, patch: object) =>
  cluster.admin.call('PATCH', `/api/v1/nodes/${node}`, patch);

const nodeWith = (node: string, parts: object) => ({
  ...{ apiVersion: 'v1', kind: 'Node', metadata: { name: node } },
  ...parts,
});

const bySlipway = (node: string, parts: object) =>
  slipway.patch(
    nodeWith(node, parts),
    undefined,
    undefined,
    undefined,
    undefined,
    PatchStrategy.MergePatch,
  );

async function caught(act: () => Promise<unknown>): Promise<string> {
  const seen = judge.nextViolation();
  await act();
  const { invariant, text } = await seen;
  return `${invariant} ${text}`;
}

test(
  'each broken promise is named',
  async () => {
    // I1: takes one node out of service, and then another.
    const takes = (node: string, unschedulable: true | null) => {
      const owner = unschedulable === null ? null : `update-node/${node}`;
      return bySlipway(node, {
        metadata: { name: node, annotations: { 'slipway.dev/cordoned-by': owner } },
        spec: { unschedulable },
      });
    };
    await takes('worker-1', true);
    expect(await caught(() => takes('worker-2', true))).toBe(
      'I1 worker-2: 2 nodes unavailable, 1 allowed: worker-1, worker-2',
    );
    await takes('worker-1', null);
    await takes('worker-2', null);

    // I3: removes a person's cordon; only the audit log shows by whom.
    await person('worker-0', { spec: { unschedulable: true } });
    expect(await caught(() => bySlipway('worker-0', { spec: { unschedulable: null } }))).toBe(
      `I3 worker-0: ${SLIPWAY} removed a person's cordon`,
    );

    // I3: removes its own cordon together with one that a person applied beside it.
    const marked = (owner: string | null) => ({
      metadata: { name: 'worker-0', annotations: { 'slipway.dev/cordoned-by': owner } },
    });
    const cordoned = { spec: { unschedulable: true } };
    await bySlipway('worker-0', { ...marked('update-node/worker-0'), ...cordoned });
    await manifests.applyObject(nodeWith('worker-0', cordoned));
    expect(await caught(() => bySlipway('worker-0', { spec: { unschedulable: null } }))).toBe(
      `I3 worker-0: ${SLIPWAY} removed a person's cordon`,
    );
    await person('worker-0', marked(null));

    // I3: deletes a pod that should have been evicted.
    await cluster.admin.call('POST', '/api/v1/namespaces/default/pods', pod());
    expect(
      await caught(() =>
        slipway.delete({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { namespace: 'default', name: 'cart-1' },
        }),
      ),
    ).toContain('I3 pod default/cart-1: ');

    // I5: a machine reboots without an order.
    const boot = (bootID: string) =>
      cluster.admin.call('PATCH', '/api/v1/nodes/worker-2/status', {
        status: { nodeInfo: { bootID } },
      });
    expect(await caught(() => boot('another'))).toBe(
      'I5 worker-2: rebooted, and nothing was ordered',
    );

    // I2, I7: leaves its mark on one node, a cordon without a mark on another, and no
    // MachineConfigNode.
    await bySlipway('worker-2', {
      metadata: { name: 'worker-2', annotations: { 'slipway.dev/cordoned-by': 'update-node/x' } },
    });
    await bySlipway('worker-1', { spec: { unschedulable: true } });
    await judge.rest();
    expect(judge.violations.map(({ invariant, subject }) => `${invariant} ${subject}`)).toEqual(
      expect.arrayContaining(['I2 worker-1', 'I2 worker-2', 'I7 worker']),
    );
    await person('worker-1', { spec: { unschedulable: null } });
    await bySlipway('worker-2', {
      metadata: { name: 'worker-2', annotations: { 'slipway.dev/cordoned-by': null } },
    });
  },
  STORY_MS,
);

test(
  'I6: an update that waits for over a minute without a word is named, and one that says for what is not',
  async () => {
    const { address, namespace } = temporal;
    const silence = await observeInOwnProcess({
      kubeconfig: cluster.adminKubeconfig,
      nodeSelector: 'node-role.kubernetes.io/worker',
      pool: 'worker',
      temporal: { address, namespace },
    });
    const updates = { 'worker-0': undefined, 'worker-1': 'pods to leave the node' };
    await withWaitingUpdates(temporal, updates, async () => {
      const { invariant, text } = await silence.nextViolation();
      expect(`${invariant} ${text}`).toBe(
        'I6 worker-0: its update waits and does not say for what',
      );
    });
    await silence.stop();
    expect(silence.violations.map(describeViolation)).toHaveLength(1);
  },
  SILENT_STORY_MS,
);

test(
  'I1: more grants than nodes may go out of service are named',
  async () => {
    const rollouts = '/apis/slipway.dev/v1alpha1/poolrollouts';
    const metadata = { name: 'worker' };
    await cluster.admin.call('POST', rollouts, {
      ...{ apiVersion: 'slipway.dev/v1alpha1', kind: 'PoolRollout', metadata },
    });
    const give = (...nodes: readonly string[]) =>
      cluster.admin.call('PATCH', `${rollouts}/worker/status`, { status: statusWith(nodes) });

    await give('worker-0');
    // All of them have served for so long that no picture of Slipway's shows one down.
    expect(await caught(() => give('worker-0', 'worker-2'))).toBe(
      'I1 worker: 2 grants to go out of service, 1 allowed: worker-0, worker-2',
    );
    await cluster.admin.call('DELETE', `${rollouts}/worker`);
  },
  STORY_MS,
);

/** Of a PoolRollout in which these nodes have grants. */
function statusWith(nodes: readonly string[]): object {
  const at = '2029-06-01T00:00:00Z';
  const none = { waiting: 0, failed: 0, held: 0, blocked: 0 };
  return {
    ...{ state: 'Rolling', done: '0/3', failed: [], held: [] },
    counts: { machines: 3, updated: 0, outOfService: nodes.length, mayBeOut: 1, ...none },
    grants: nodes.map((node) => ({
      ...{ node, uid: node, run: `run-of-${node}`, config: CONFIG, startedAt: at, grantedAt: at },
    })),
  };
}

test(
  'an observer that looks for Temporal where it is not says so at rest, and sees once it is told where it is',
  async () => {
    const { address, namespace } = temporal;
    const [nobody = 0] = await freePorts(1);
    const blind = await observeInOwnProcess({
      kubeconfig: cluster.adminKubeconfig,
      nodeSelector: 'node-role.kubernetes.io/worker',
      pool: 'worker',
      temporal: { address: `127.0.0.1:${nobody}`, namespace },
      restMs: 10_000,
    });
    const ofItself = () =>
      blind.violations.filter(({ invariant }) => invariant === 'observer').map(({ text }) => text);
    const before = await blind.rest();
    expect(before.sight).toMatchObject({ temporal: { looks: 0 } });
    expect(ofItself()).toEqual(['Temporal: at rest, it could not be looked at for 10 s']);

    blind.temporalMoved(address);
    const after = await blind.rest();
    expect(after.sight.temporal?.looks).toBeGreaterThan(0);
    expect(after.sight.temporal?.blindSeconds).toBeGreaterThanOrEqual(10);
    const isNew = blind.violations.slice(before.violations);
    await blind.stop();
    expect(isNew.filter(({ invariant }) => invariant === 'observer')).toEqual([]);
  },
  STORY_MS,
);

describe('I4: the disk of a host at rest', () => {
  const FILES = ['/etc/first.conf', '/etc/second.conf'] as const;
  const ON_DISK = { [CONFIG]: 'before', [NEXT_CONFIG]: 'after' } as const;
  type Config = keyof typeof ON_DISK;
  /** Only in the first config. */
  const DROPPED = '/etc/dropped.conf';
  const UNITS = '/etc/systemd/system';
  const UNIT = `${UNITS}/dropped.service`;
  const LINK = `${UNITS}/multi-user.target.wants/dropped.service`;
  const DROPIN = `${UNITS}/kubelet.service.d/10-dropped.conf`;
  const MASK = `${UNITS}/masked.service`;
  const CONTENTS = '[Service]\nExecStart=/a\n\n[Install]\nWantedBy=multi-user.target\n';
  const APPENDED = '/etc/appended.conf';
  const SERIALS = { [CONFIG]: 1, [NEXT_CONFIG]: 2 } as const;
  const RECORDS = '/etc/machine-config-daemon';
  let root: string;

  const manifestOf = (name: Config) => {
    const isFirst = name === CONFIG;
    const units = [
      { name: 'dropped.service', enabled: true, contents: CONTENTS },
      { name: 'kubelet.service', dropins: [{ name: '10-dropped.conf', contents: CONTENTS }] },
      { name: 'masked.service', mask: true },
    ];
    const manifest = machineConfig(name, {
      kernelArguments: [`config=${SERIALS[name]}`],
      files: [
        ...FILES.map((path) => plainFile(path, ON_DISK[name])),
        ...(isFirst ? [plainFile(DROPPED, 'dropped')] : []),
      ],
      units: isFirst ? units : [],
    });
    const appended = { path: APPENDED, append: [{ source: 'data:,ours' }] };
    const { storage, ...config } = manifest.spec.config;
    const files = [...storage.files, appended];
    const spec = { ...manifest.spec, config: { ...config, storage: { files } } };
    return withOsImage({ ...manifest, spec }, SERIALS[name]);
  };

  beforeAll(async () => {
    for (const name of [CONFIG, NEXT_CONFIG] as const) {
      await cluster.admin.call('POST', `/apis/${GROUP}/v1/machineconfigs`, manifestOf(name));
    }
  });

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-planted-'));
    becomes(CONFIG);
  });

  afterEach(async () => {
    rmSync(root, { recursive: true });
    await sayConfig(CONFIG);
  });

  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o644 });
  };
  const link = (path: string, target: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(target, join(root, path));
  };
  /** Each as the first config wants it. */
  const leftovers: Readonly<Record<string, () => void>> = {
    [DROPPED]: () => write(DROPPED, 'dropped'),
    [UNIT]: () => write(UNIT, CONTENTS),
    [LINK]: () => link(LINK, UNIT),
    [DROPIN]: () => write(DROPIN, CONTENTS),
    [MASK]: () => link(MASK, '/dev/null'),
  };
  const boot = (name: Config, change: object = {}): void => {
    const { osImageURL, kernelArguments } = manifestOf(name).spec;
    const system = { image: osImageURL, kernelArguments, extensions: [], kernelType: 'default' };
    write('/var/lib/slipway/simulated-os.json', JSON.stringify({ booted: system, ...change }));
  };
  /** The Node does not change. */
  const becomes = (name: Config): void => {
    for (const path of FILES) write(path, ON_DISK[name]);
    write(`${RECORDS}/orig${APPENDED}.mcdorig`, 'theirs\n');
    write(APPENDED, 'theirs\nours');
    for (const [path, leave] of Object.entries(leftovers)) {
      rmSync(join(root, path), { force: true });
      if (name === CONFIG) leave();
    }
    boot(name);
    recordConfig(name);
  };
  const recordConfig = (name: string) =>
    write(CURRENT_CONFIG_FILE, JSON.stringify({ metadata: { name } }));
  const sayConfig = (name: string) =>
    bySlipway('worker-0', {
      metadata: { name: 'worker-0', annotations: { [CURRENT_CONFIG]: name } },
    });
  const found = async (): Promise<readonly string[]> => {
    const node = await cluster.admin.call<NodeObject>('GET', '/api/v1/nodes/worker-0');
    const said = node.metadata.annotations[CURRENT_CONFIG] ?? '';
    return wrongOnDisk(await renderedConfigs(cluster.admin), said, root);
  };

  test.each([CONFIG, NEXT_CONFIG] as const)(
    'of one that is on %s, which is named, nothing is said',
    async (config) => {
      becomes(config);
      await sayConfig(config);
      expect(await found()).toEqual([]);
    },
  );

  test('one between its old and its new config is named, whichever of them it is said to be on', async () => {
    write(FILES[1], ON_DISK[NEXT_CONFIG]);
    expect(await found()).toEqual([`${FILES[1]} has other bytes: "after"`]);

    becomes(NEXT_CONFIG);
    write(FILES[0], ON_DISK[CONFIG]);
    await sayConfig(NEXT_CONFIG);
    expect(await found()).toEqual([`${FILES[0]} has other bytes: "before"`]);
  });

  test.each([
    [DROPPED, `${DROPPED} is there, and only other configs have it`],
    [UNIT, `${UNIT} is there, and only other configs have it`],
    [LINK, `${LINK} enables dropped.service, which only other configs have`],
    [DROPIN, `${DROPIN} is there, and only other configs have it`],
    [MASK, `${MASK} is there, and only other configs have it`],
  ])('one that still has %s, which its config has not, is named', async (path, text) => {
    becomes(NEXT_CONFIG);
    await sayConfig(NEXT_CONFIG);
    leftovers[path]?.();
    expect(await found()).toEqual([text]);
  });

  test.each([`${RECORDS}/orig${DROPPED}.mcdorig`, `${RECORDS}/noorig${DROPPED}.mcdnoorig`])(
    'one that still has %s for a path that its config has not is named',
    async (record) => {
      becomes(NEXT_CONFIG);
      await sayConfig(NEXT_CONFIG);
      write(record, '');
      expect(await found()).toEqual([`${record} is kept, and the config does not have ${DROPPED}`]);
    },
  );

  test('one that has the files of its config and has booted the image of the other is named', async () => {
    const [old, next] = [manifestOf(CONFIG).spec, manifestOf(NEXT_CONFIG).spec];
    becomes(NEXT_CONFIG);
    await sayConfig(NEXT_CONFIG);
    boot(CONFIG);
    expect(await found()).toEqual([
      `the machine has booted image "${old.osImageURL}", not "${next.osImageURL}"`,
      'the machine has booted kernel arguments "config=1", not "config=2"',
    ]);

    boot(NEXT_CONFIG, { next: { image: old.osImageURL } });
    expect(await found()).toEqual([`the next boot is into ${old.osImageURL}`]);
  });

  test('what an image brings for a path that its config has not is no leftover', async () => {
    becomes(NEXT_CONFIG);
    await sayConfig(NEXT_CONFIG);
    for (const path of [DROPPED, `/usr${DROPPED}`]) write(path, 'of the image');
    expect(await found()).toEqual([]);

    write(DROPPED, 'dropped');
    expect(await found()).toEqual([`${DROPPED} is there, and only other configs have it`]);
  });

  test('one that has lost what its config appends to, or has it twice, is named', async () => {
    for (const text of ['ours', 'theirs\noursours']) {
      write(APPENDED, text);
      expect(await found()).toEqual([`${APPENDED} has other bytes: ${JSON.stringify(text)}`]);
    }
  });

  test('one on which a file belongs to somebody else is named', async () => {
    giveAway(FILES[0]);
    expect(await found()).toEqual([
      `${FILES[0]} has user 1000, not 0`,
      `${FILES[0]} has group 1000, not 0`,
    ]);
  });

  /** Simulated hosts without the right to change owners record them in a file. */
  const giveAway = (path: string): void => {
    if (process.getuid?.() === 0) chownSync(join(root, path), 1000, 1000);
    else write('.slipway-owners.json', JSON.stringify({ [path]: { uid: 1000, gid: 1000 } }));
  };

  test.each(['Done', 'Degraded'])(
    'one whose journal is open is named, although its node serves and says %s',
    async (state) => {
      const judged = () => judgeDisks(cluster.admin, () => root, 0);
      const say = (said: string) =>
        bySlipway('worker-0', {
          metadata: { name: 'worker-0', annotations: { [`${GROUP}/state`]: said } },
        });
      await say(state);
      try {
        await expect(judged()).resolves.toBeUndefined();
        write('/var/lib/slipway/journal/an-update/log', '');
        await expect(judged()).rejects.toThrow(
          `worker-0 on ${CONFIG}: its journal an-update is open`,
        );
      } finally {
        await say('Done');
      }
    },
  );

  test('one whose Node names the other config is named', async () => {
    await sayConfig(NEXT_CONFIG);
    expect(await found()).toEqual(
      expect.arrayContaining([
        `the host names ${CONFIG}, its Node ${NEXT_CONFIG}`,
        ...FILES.map((path) => `${path} has other bytes: "before"`),
      ]),
    );
  });

  test('one whose own record names the other config is named', async () => {
    recordConfig(NEXT_CONFIG);
    expect(await found()).toEqual([`the host names ${NEXT_CONFIG}, its Node ${CONFIG}`]);
  });
});

interface NodeObject {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
}

function pod() {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cart-1', labels: { app: 'cart' } },
    spec: {
      nodeName: 'worker-1',
      containers: [{ name: 'cart', image: 'registry.example.com/cart:1' }],
    },
  };
}
