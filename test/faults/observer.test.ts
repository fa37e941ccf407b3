/**
 * The observer bites: somebody with Slipway's own certificate breaks one promise after the other in a
 * real cluster, and the observer, in its process, names each. No part of the product runs.
 */

import { KubeConfig, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node';
import { createNodes, startCluster, type Cluster } from '../../tools/cluster';
import { observeInOwnProcess, type ObserverProcess } from '../../tools/observer/own-process';
import { manifestsWith } from '../../tools/stack/manifests';

const START_MS = 240_000;
const STORY_MS = 60_000;
const GROUP = 'machineconfiguration.openshift.io';
const CONFIG = 'rendered-worker-1';
const SLIPWAY = 'slipway-cluster-worker';
const WORKER = { 'node-role.kubernetes.io/worker': '' };

let cluster: Cluster;
let judge: ObserverProcess;
let slipway: KubernetesObjectApi;

beforeAll(async () => {
  cluster = await startCluster({ audit: true });
  const manifests = manifestsWith(cluster.adminKubeconfig);
  await manifests.applyFiles('deploy/crds');
  await manifests.applyObject(allowedEverything());
  await createNodes(
    cluster,
    ['worker-0', 'worker-1', 'worker-2'].map((name) => ({
      name,
      labels: WORKER,
      annotations: {
        [`${GROUP}/currentConfig`]: CONFIG,
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
    // Nobody is there who could still put anything right.
    restMs: 2_000,
    ...(auditLog === undefined ? {} : { auditLog }),
  });
}, START_MS);

afterAll(async () => {
  await judge?.stop();
  await cluster?.stop();
}, START_MS);

function clientOf(kubeconfig: string): KubernetesObjectApi {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  return KubernetesObjectApi.makeApiClient(config);
}

/** What no manifest of Slipway's allows: here its user may do everything. */
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

const bySlipway = (node: string, parts: object) =>
  slipway.patch(
    { apiVersion: 'v1', kind: 'Node', metadata: { name: node }, ...parts },
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
    // I1: a person has one node out of service already; the actor takes another.
    await person('worker-0', { spec: { unschedulable: true } });
    expect(await caught(() => bySlipway('worker-1', { spec: { unschedulable: true } }))).toBe(
      'I1 worker-1: 2 nodes unavailable, 1 allowed: worker-0, worker-1',
    );
    await person('worker-1', { spec: { unschedulable: null } });

    // I3: it takes a person's cordon away, and nothing on the Node tells who it was but the audit log.
    expect(await caught(() => bySlipway('worker-0', { spec: { unschedulable: null } }))).toBe(
      `I3 worker-0: ${SLIPWAY} removed a person's cordon`,
    );

    // I3: it deletes a pod that should have been evicted.
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

    // I5: a machine reboots that nobody told to.
    const boot = (bootID: string) =>
      cluster.admin.call('PATCH', '/api/v1/nodes/worker-2/status', {
        status: { nodeInfo: { bootID } },
      });
    expect(await caught(() => boot('another'))).toBe(
      'I5 worker-2: rebooted, and nothing was ordered',
    );

    // I2, I7: it goes home, and leaves its mark on a node and no MachineConfigNode.
    await bySlipway('worker-2', {
      metadata: { name: 'worker-2', annotations: { 'slipway.dev/cordoned-by': 'update-node/x' } },
    });
    await judge.rest();
    expect(judge.violations.map(({ invariant, subject }) => `${invariant} ${subject}`)).toEqual(
      expect.arrayContaining(['I2 worker-2', 'I7 worker']),
    );
  },
  STORY_MS,
);

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
