import { Connection } from '@temporalio/client';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeClient } from '../../../adapters/kube/client';
import { NODES } from '../../../adapters/kube/resources';
import { openConnections } from '../../../cli/connections';
import { EXIT } from '../../../cli/exit-codes';
import { kubeCluster } from '../../../cli/kube-cluster';
import { fail } from '../../../core/errors';

const nothing = (): void => undefined;
const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const { signal: SIGNAL } = new AbortController();

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-connections-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
  jest.restoreAllMocks();
});

function pem(name: string): string {
  const file = join(directory, name);
  writeFileSync(file, name);
  return file;
}

describe('Temporal', () => {
  it('is asked with the certificates and the API key that the processes would use', async () => {
    const connect = jest.spyOn(Connection, 'connect').mockRejectedValue(new Error('nobody there'));
    const environment = {
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      TEMPORAL_TLS_CA: pem('ca'),
      TEMPORAL_TLS_CERT: pem('cert'),
      TEMPORAL_TLS_KEY: pem('key'),
      TEMPORAL_TLS_SERVER_NAME: 'temporal',
      TEMPORAL_API_KEY: 'from the environment',
    };
    const options = { color: true, temporalApiKey: 'from the flag' };

    await expect(openConnections(options, environment, SIGNAL).temporal()).rejects.toMatchObject({
      exitCode: EXIT.UNREACHABLE,
    });

    expect(connect).toHaveBeenCalledWith(
      expect.objectContaining({
        address: 'temporal.example:7233',
        apiKey: 'from the flag',
        tls: {
          serverRootCACertificate: Buffer.from('ca'),
          clientCertPair: { crt: Buffer.from('cert'), key: Buffer.from('key') },
          serverNameOverride: 'temporal',
        },
      }),
    );
  });

  it.each([
    ['a certificate that cannot be read', { TEMPORAL_TLS_CA: '/nonexistent/ca' }, /nonexistent/],
    ['a certificate without its key', { TEMPORAL_TLS_CERT: 'c' }, /TEMPORAL_TLS_KEY/],
  ])('is not asked with %s', async (_name, environment, message) => {
    const connect = jest.spyOn(Connection, 'connect');

    await expect(
      openConnections({ color: true }, environment, SIGNAL).temporal(),
    ).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringMatching(message) as unknown,
    });
    expect(connect).not.toHaveBeenCalled();
  });
});

it.each(['nowhere:99999', 'http://temporal:7233', 'a b', 'host:port'])(
  'refuses the impossible Temporal address %s before it asks',
  async (temporalAddress) => {
    const opened = openConnections({ color: true, temporalAddress }, {}, SIGNAL);

    await expect(opened.temporal()).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringContaining(temporalAddress) as unknown,
    });
  },
);

describe('the cluster', () => {
  function kubeconfig(server: string): string {
    const file = join(directory, 'config');
    const content = {
      'current-context': 'main',
      contexts: [{ name: 'main', context: { cluster: 'c' } }],
      clusters: [{ name: 'c', cluster: { server } }],
    };
    writeFileSync(file, JSON.stringify(content));
    return file;
  }

  it.each([
    ['file', () => ({ kubeconfig: '/nonexistent' }), '/nonexistent'],
    ['context', () => ({ kubeconfig: kubeconfig('https://k'), context: 'nope' }), 'context nope'],
    ['address', () => ({ kubeconfig: kubeconfig('https://k:99999') }), 'https://k:99999'],
  ])('is not asked with an impossible %s', async (_name, options, named) => {
    const opened = openConnections({ color: true, ...options() }, {}, SIGNAL);

    await expect(opened.cluster()).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringContaining(named) as unknown,
    });
  });

  it('without the kinds of Slipway says what to install', async () => {
    const list = async (resource: unknown) => {
      if (resource === NODES) return { items: [] };
      throw fail('ObjectNotFound', 'list MachineConfigPools: 404 page not found');
    };
    const cluster = kubeCluster({ list } as unknown as KubeClient, QUIET);

    await expect(cluster.poolNames()).rejects.toMatchObject({
      message: expect.stringContaining('kubectl apply -f deploy/crds') as unknown,
    });
    await expect(cluster.read()).rejects.toThrow("Slipway's CRDs are not installed");
  });
});
