import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createApiClient,
  createNodes,
  readCredentials,
  Signer,
  startCluster,
  type Cluster,
} from '../../../tools/cluster';
import { startTimeOf } from '../../../tools/processes/identity';
import { until } from './until';

jest.setTimeout(240_000);

interface Node {
  readonly metadata: { readonly uid: string };
  readonly status: {
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
    }[];
    readonly allocatable: Readonly<Record<string, string>>;
    readonly nodeInfo: { readonly bootID: string };
  };
}

describe('a development cluster', () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster();
  });

  afterAll(async () => {
    await cluster?.stop();
  });

  it('runs a whole control plane and says how much memory it takes', () => {
    const processes = cluster.processes();

    expect(processes.map(({ name }) => name).sort()).toEqual([
      'etcd',
      'kube-apiserver',
      'kube-controller-manager',
      'kube-scheduler',
      'kwok',
    ]);
    for (const { memory } of processes) expect(memory).toBeGreaterThan(10 * 1024 * 1024);
  });

  it('makes a node Ready once and leaves its condition alone afterwards', async () => {
    await createNodes(cluster, [{ name: 'ready-1', labels: { zone: 'a' } }]);
    const path = '/api/v1/nodes/ready-1';
    const node = await cluster.admin.call<Node>('GET', path);
    expect(node.status.nodeInfo.bootID).toBe(node.metadata.uid);
    expect(node.status.allocatable.pods).toBe('110');

    await cluster.admin.call('PATCH', `${path}/status`, {
      status: { conditions: node.status.conditions.map(notReady), nodeInfo: { bootID: 'two' } },
    });
    // A Lease that was renewed after the change shows that KWOK has handled this node.
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/ready-1';
    const before = await renewTime(cluster, lease);
    await until(async () => (await renewTime(cluster, lease)) !== before, 'the lease is renewed');

    const after = await cluster.admin.call<Node>('GET', path);
    const ready = after.status.conditions.find(({ type }) => type === 'Ready');
    expect(ready).toMatchObject({ status: 'False', reason: 'Rebooting' });
    expect(after.status.nodeInfo.bootID).toBe('two');
  });

  it('says all of a node anew that was taken for lost, because its lease came late', async () => {
    await createNodes(cluster, [{ name: 'late-1' }]);
    const path = '/api/v1/nodes/late-1';
    const { status } = await cluster.admin.call<Node>('GET', path);
    const healthy = status.conditions.map(({ type, status: is }) => [type, is]);
    // The conditions that the controller manager writes; it leaves out the network.
    const lost = status.conditions.map((condition) =>
      condition.type === 'NetworkUnavailable'
        ? condition
        : { ...condition, status: 'Unknown', reason: 'NodeStatusUnknown' },
    );

    await cluster.admin.call('PATCH', `${path}/status`, { status: { conditions: lost } });

    await until(async () => {
      const { conditions } = (await cluster.admin.call<Node>('GET', path)).status;
      return conditions.every(({ status: is }) => is !== 'Unknown');
    }, 'nothing of the node is Unknown');
    const after = await cluster.admin.call<Node>('GET', path);
    const said = after.status.conditions.map(({ type, status: is }) => [type, is]);
    expect(Object.fromEntries(said)).toEqual(Object.fromEntries(healthy));
  });

  it('gives each node credentials that the API server knows it by', async () => {
    const names = ['member-1', 'member-2', 'member-3'];
    const viaApi = await cluster.nodeCredentialsBulk(names);
    const [direct] = await cluster.nodeCredentialsBulk(['member-4'], { signer: Signer.AUTHORITY });

    const users = await Promise.all(
      [...viaApi, ...(direct === undefined ? [] : [direct])].map(async (files) => {
        const client = createApiClient(cluster.server, cluster.ca, await readCredentials(files));
        const review = await client.call<{ status: { userInfo: unknown } }>(
          'POST',
          '/apis/authentication.k8s.io/v1/selfsubjectreviews',
          { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
        );
        const secrets = await client.send('GET', '/api/v1/secrets');
        client.close();
        expect(secrets.status).toBe(403);
        return review.status.userInfo;
      }),
    );

    expect(users).toHaveLength(4);
    for (const [index, user] of users.entries()) {
      expect(user).toMatchObject({
        username: `system:node:member-${index + 1}`,
        groups: expect.arrayContaining(['system:nodes']) as unknown,
      });
    }
  });

  it('refuses to sign another superuser', async () => {
    const attempt = cluster.kubeconfigFor({
      commonName: 'mallory',
      organizations: ['system:masters'],
    });

    await expect(attempt).rejects.toMatchObject({ status: 403 });
  });

  it('runs the pods of a Deployment, whose budget allows evictions one at a time', async () => {
    await createNodes(cluster, [{ name: 'worker-1' }, { name: 'worker-2' }]);
    await cluster.admin.call('POST', '/apis/apps/v1/namespaces/default/deployments', shop(3));
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    await cluster.admin.call('POST', budgets, {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'shop' },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'shop' } } },
    });
    const allowed = async (): Promise<number | undefined> =>
      (
        await cluster.admin.call<{ status?: { disruptionsAllowed?: number } }>(
          'GET',
          `${budgets}/shop`,
        )
      ).status?.disruptionsAllowed;
    await until(async () => (await allowed()) === 1, 'the budget allows one disruption');
    const pods = await podNames(cluster);
    expect(pods).toHaveLength(3);

    const first = await evict(cluster, pods[0]);
    const second = await evict(cluster, pods[1]);

    expect(first.status).toBe(201);
    expect(second.status).toBe(429);
    await until(async () => (await allowed()) === 1, 'the budget allows a disruption again');
    await until(async () => !(await podNames(cluster)).includes(pods[0] ?? ''), 'the pod is gone');
    expect(await podNames(cluster)).toHaveLength(3);
  });

  it('says Ready again for a pod that was marked on a node that is back', async () => {
    const [name = ''] = await podNames(cluster);
    const path = `/api/v1/namespaces/default/pods/${name}`;
    const says = ({ status }: Pick<Node, 'status'>): boolean =>
      status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True');
    const isReady = async (): Promise<boolean> => says(await cluster.admin.call('GET', path));
    await until(isReady, 'the pod is Ready');

    const { status } = await cluster.admin.call<Pick<Node, 'status'>>('GET', path);
    const marked = await cluster.admin.call<Pick<Node, 'status'>>('PATCH', `${path}/status`, {
      status: { conditions: status.conditions.map(notReady) },
    });

    expect(says(marked)).toBe(false);
    await until(isReady, 'the pod is Ready again');
  });

  it('comes back on the same address after its API server crashed', async () => {
    const { server } = cluster;

    await cluster.killApiServer();
    await expect(cluster.admin.call('GET', '/api/v1/nodes')).rejects.toThrow();
    await cluster.startApiServer();

    expect(cluster.server).toBe(server);
    const node = await cluster.admin.send('GET', '/api/v1/nodes/ready-1');
    expect(node.status).toBe(200);
    expect(await cluster.apiServerMetrics()).toContain('apiserver_request_total');
  });

  it('goes on working after the crash: every other process finds the API server again', async () => {
    await createNodes(cluster, [{ name: 'after-crash' }]);
    await cluster.nodeCredentials('after-crash');

    expect(cluster.processes()).toHaveLength(5);
  });

  it('leaves no process and no directory behind', async () => {
    const own = await startCluster({ kwok: false });
    const pids = own.processes().map(({ pid }) => pid);
    expect(pids).toHaveLength(4);

    await own.stop();

    expect(pids.map(startTimeOf)).toEqual([undefined, undefined, undefined, undefined]);
    expect(existsSync(own.directory)).toBe(false);
  });

  it('keeps its objects over a restart, and a directory that it was given', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-kept-'));
    const own = await startCluster({ kwok: false, directory });
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kept' } };
    await own.admin.call('POST', '/api/v1/namespaces', namespace);
    const before = own.processes().map(({ pid }) => pid);

    await own.restart();

    expect((await own.admin.send('GET', '/api/v1/namespaces/kept')).status).toBe(200);
    expect(before.map(startTimeOf)).toEqual([undefined, undefined, undefined, undefined]);
    await own.stop();
    expect(existsSync(join(directory, 'etcd'))).toBe(true);
    rmSync(directory, { recursive: true });
  });
});

function notReady<T extends { readonly type: string }>(condition: T): T {
  return condition.type === 'Ready'
    ? { ...condition, status: 'False', reason: 'Rebooting' }
    : condition;
}

async function renewTime(cluster: Cluster, path: string): Promise<string | undefined> {
  const answer = await cluster.admin.send('GET', path);
  if (answer.status === 404) return undefined;
  return (JSON.parse(answer.text) as { spec: { renewTime?: string } }).spec.renewTime;
}

function shop(replicas: number): unknown {
  const labels = { app: 'shop' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        // Slow enough that a replacement comes only after the next eviction.
        metadata: { labels, annotations: { 'pod-ready.stage.kwok.x-k8s.io/delay': '3s' } },
        spec: { containers: [{ name: 'shop', image: 'shop' }] },
      },
    },
  };
}

async function podNames(cluster: Cluster): Promise<readonly string[]> {
  const list = await cluster.admin.call<{ items: { metadata: { name: string } }[] }>(
    'GET',
    '/api/v1/namespaces/default/pods?labelSelector=app%3Dshop&fieldSelector=status.phase%3DRunning',
  );
  return list.items.map(({ metadata }) => metadata.name);
}

function evict(cluster: Cluster, pod = 'none'): Promise<{ readonly status: number }> {
  return cluster.admin.send('POST', `/api/v1/namespaces/default/pods/${pod}/eviction`, {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: pod, namespace: 'default' },
  });
}
