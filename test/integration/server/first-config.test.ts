import { randomBytes } from 'node:crypto';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { JoinTokenStore } from '../../../adapters/kube/join-tokens';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
} from '../../../adapters/kube/resources';
import { FIRST_BOOT_FILE } from '../../../core/first-boot';
import { newJoinToken } from '../../../core/join';
import type { IgnitionConfig } from '../../../core/machine-config/types';
import { ANNOTATION } from '../../../core/names';
import { rfc3339 } from '../../../core/rfc3339';
import { createNodes } from '../../../tools/cluster';
import { applyManifest, eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';
import { ask, type Answer } from './tls-client';

jest.setTimeout(240_000);

const IGNITION = 'application/vnd.coreos.ignition+json;version=';
const spec = (path: string) => ({
  osImageURL: 'registry.example.com/os@sha256:1',
  config: {
    ignition: { version: '3.5.0' },
    storage: { files: [{ path, contents: { source: 'data:,hello' } }] },
  },
});

let fixture: EndpointFixture;
let token: string;

beforeAll(async () => {
  fixture = await startEndpoint([]);
  await fixture.addConfig('rendered-worker-1', 'worker', spec('/etc/one'));
  await fixture.addConfig('rendered-worker-2', 'worker', spec('/etc/two'));
  token = await addToken('worker');
});
afterAll(() => fixture?.stop());

async function addToken(pool: string): Promise<string> {
  const made = newJoinToken(randomBytes);
  await new JoinTokenStore(fixture.kube.admin, 'slipway-tests').create({
    id: made.id,
    hash: made.hash,
    pool,
    createdAt: rfc3339(Date.now()),
    expiresAt: rfc3339(Date.now() + 3_600_000),
  });
  return made.text;
}

/** The pool as the controllers write it: target, present config, number of updated nodes. */
async function setPool(next: string, now: string, updated: number): Promise<void> {
  const { admin } = fixture.kube;
  await admin.patch(
    MACHINE_CONFIG_POOLS,
    { name: 'worker' },
    { spec: { configuration: { name: next } } },
  );
  await admin.patch(
    MACHINE_CONFIG_POOLS,
    { name: 'worker', subresource: 'status' },
    { status: { configuration: { name: now }, updatedMachineCount: updated } },
  );
}

function get(path: string, headers: Record<string, string> = {}, shown = token): Promise<Answer> {
  const { cluster } = fixture.kube;
  const url = `${fixture.server.ignitionUrl}${path}`;
  return ask({ url, caFile: cluster.caFile, token: shown, headers });
}

function pathsOf({ body }: Answer): readonly string[] {
  const config = JSON.parse(body.toString()) as IgnitionConfig;
  return (config.storage?.files ?? []).map(({ path }) => path);
}

describe('first configs of a real cluster', () => {
  it('come once the pool has a rendered config, to whoever shows its token', async () => {
    const before = await eventually(async () => {
      const answer = await get('/config/worker');
      expect(answer.status).toBe(500);
      return answer;
    });
    expect(before.headers['slipway-reason']).toBe('no-rendered-config');
    await setPool('rendered-worker-1', 'rendered-worker-1', 0);

    const answer = await eventually(async () => {
      const found = await get('/config/worker', { accept: `${IGNITION}3.4.0` });
      expect(found.status).toBe(200);
      return found;
    });

    expect(answer.headers['content-type']).toBe('application/json');
    expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
    expect(pathsOf(answer)).toContain('/etc/one');
    expect(pathsOf(answer).at(-1)).toBe(FIRST_BOOT_FILE.ENCAPSULATED_CONFIG);
    expect((JSON.parse(answer.body.toString()) as IgnitionConfig).ignition.version).toBe('3.4.0');
  });

  it('are those of the old config until a machine has verified the new one', async () => {
    await setPool('rendered-worker-2', 'rendered-worker-1', 0);
    expect(pathsOf(await get('/config/worker'))).toContain('/etc/one');

    await setPool('rendered-worker-2', 'rendered-worker-1', 1);

    await eventually(async () => {
      expect(pathsOf(await get('/config/worker'))).toContain('/etc/two');
    });
  });

  it('are of the target, or what a node has verified, when the config of the pool is deleted', async () => {
    const { admin, cluster } = fixture.kube;
    await fixture.addConfig('rendered-worker-a', 'worker', spec('/etc/gone'));
    await fixture.addConfig('rendered-worker-3', 'worker', spec('/etc/three'));
    await admin.delete(MACHINE_CONFIGS, { name: 'rendered-worker-a' });
    // No node is counted yet when the next config comes.
    await setPool('rendered-worker-2', 'rendered-worker-a', 0);
    await setPool('rendered-worker-3', 'rendered-worker-a', 0);

    await eventually(async () => {
      expect(pathsOf(await get('/config/worker'))).toContain('/etc/three');
    });
    const metrics = await (await fetch(`${fixture.server.plainUrl}/metrics`)).text();
    expect(metrics).toMatch(/first_configs_substituted_total\{because="target"\} [1-9]/);

    const role = { 'node-role.kubernetes.io/worker': '' };
    await createNodes(cluster, [{ name: 'proves-one', labels: role }]);
    await admin.patch(
      NODES,
      { name: 'proves-one' },
      {
        metadata: {
          annotations: {
            [ANNOTATION.CURRENT_CONFIG]: 'rendered-worker-1',
            [ANNOTATION.DESIRED_CONFIG]: 'rendered-worker-1',
            [ANNOTATION.STATE]: 'Done',
          },
        },
      },
    );
    await eventually(async () => {
      expect(pathsOf(await get('/config/worker'))).toContain('/etc/one');
    });
  });

  it('refuse no token, a wrong one and one of another pool alike, whatever the pool', async () => {
    const other = await addToken('master');
    const worker = token;
    await eventually(async () => {
      expect((await get('/config/master', {}, other)).status).toBe(500);
    });

    const answers = await Promise.all(
      ['worker', 'no-such-pool'].flatMap((pool) =>
        [other, worker.replace(/.$/, ''), 'nonsense'].map((shown) =>
          get(`/config/${pool}`, {}, shown),
        ),
      ),
    );

    const seen = answers.map(({ status, headers, body }) =>
      JSON.stringify({ status, body: body.toString(), headers: { ...headers, date: '' } }),
    );
    expect(new Set(seen).size).toBe(1);
    expect(answers[0]?.status).toBe(401);
    expect(answers[0]?.body).toHaveLength(0);
  });

  it('come to whoever shows a token from the moment in which it is made', async () => {
    for (let made = 0; made < 5; made += 1) {
      const fresh = await addToken('worker');
      expect((await get('/config/worker', {}, fresh)).status).toBe(200);
    }
  });

  it('are smaller for who asks for it', async () => {
    const plain = await get('/config/worker', { accept: `${IGNITION}3.5.0` });
    const packed = (encoding: string) =>
      get('/config/worker', { accept: `${IGNITION}3.5.0`, 'accept-encoding': encoding });

    const [gzip, zstd] = await Promise.all([packed('gzip'), packed('zstd')]);

    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    expect(zstdDecompressSync(zstd.body)).toEqual(plain.body);
    expect(new Set([plain, gzip, zstd].map(({ headers }) => headers.etag)).size).toBe(3);
  });

  it('hold the authorities of the ControllerConfig, also when they change', async () => {
    await applyManifest(fixture.kube.admin, {
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'ControllerConfig',
      metadata: { name: 'machine-config-controller' },
      spec: { kubeAPIServerServingCAData: 'Q0E=' },
    });

    await eventually(async () => {
      const { body } = await get('/config/worker');
      expect(body.toString()).toContain('data:;base64,Q0E=');
    });
    const { admin } = fixture.kube;
    await admin.patch(
      CONTROLLER_CONFIGS,
      { name: 'machine-config-controller' },
      { spec: { kubeAPIServerServingCAData: 'TmV3' } },
    );
    await eventually(async () => {
      expect((await get('/config/worker')).body.toString()).toContain('data:;base64,TmV3');
    });
  });

  it('are served on while the API server is away, and say how old they are', async () => {
    const before = await get('/config/worker');
    const { cluster } = fixture.kube;
    await cluster.killApiServer();
    try {
      const answer = await get('/config/worker');

      expect(answer.status).toBe(200);
      expect(answer.body).toEqual(before.body);
      // 503 from the first moment of the outage: the token may be a new one.
      const unknown = newJoinToken(randomBytes).text;
      expect((await get('/config/worker', {}, unknown)).status).toBe(503);
      // Older than it gets while the API server answers, which the server asks every ten seconds.
      await eventually(async () => {
        const { headers } = await get('/config/worker');
        expect(Number(headers['slipway-config-age'])).toBeGreaterThan(11);
      });
      const metrics = await (await fetch(`${fixture.server.plainUrl}/metrics`)).text();
      expect(
        Number(/^slipway_server_config_age_seconds (.+)$/m.exec(metrics)?.[1]),
      ).toBeGreaterThan(11);
    } finally {
      await cluster.startApiServer();
    }
  });
});
