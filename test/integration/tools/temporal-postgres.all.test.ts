/** Temporal on PostgreSQL, with the configuration and the commands of deploy/temporal. */

import { Connection } from '@temporalio/client';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connectionOptions } from '../../../process/temporal/connection-options';
import { ensureBinary } from '../../../tools/binaries';
import { run } from '../../../tools/binaries/run-program';
import { startCluster } from '../../../tools/cluster';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
  type Credentials,
} from '../../../tools/cluster/certificates';
import { repositoryRoot } from '../../../tools/repository-root';
import { startTemporalOnPostgres, type TemporalOnPostgres } from '../../../tools/temporal-postgres';
import { gone, removed } from '../../unit/tools/await-process';
import { startScript } from '../../unit/tools/script-process';

jest.setTimeout(240_000);

const DEPLOYED = join(repositoryRoot(), 'deploy', 'temporal');
const SERVER_NAME = 'temporal-frontend.temporal';
const directory = mkdtempSync(join(tmpdir(), 'slipway-temporal-tls-'));
let temporal: TemporalOnPostgres;

beforeAll(async () => {
  const authority = await newAuthority('temporal');
  const name = { subject: { commonName: SERVER_NAME }, addresses: [SERVER_NAME] };
  temporal = await startTemporalOnPostgres({
    tls: {
      authority: write('ca.crt', authority.certificate),
      server: pair(
        'server',
        await issueCertificate(authority, { ...name, use: CertificateUse.PEER }),
      ),
      client: pair(
        'client',
        await issueCertificate(authority, {
          subject: { commonName: 'slipway' },
          use: CertificateUse.CLIENT,
        }),
      ),
      serverName: SERVER_NAME,
    },
  });
});

afterAll(async () => {
  await temporal?.stop();
  rmSync(directory, { recursive: true, force: true });
});

function write(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

function pair(name: string, { certificate, key }: Credentials) {
  return { certificate: write(`${name}.crt`, certificate), key: write(`${name}.key`, key) };
}

/** Its number of hosts in the ring is what the parts of the server know of each other. */
it('lets clients with a certificate in, and its own parts find each other', async () => {
  const connection = await Connection.connect(
    connectionOptions({
      temporalAddress: temporal.address,
      temporalTlsCa: join(directory, 'ca.crt'),
      temporalTlsCert: join(directory, 'client.crt'),
      temporalTlsKey: join(directory, 'client.key'),
      temporalTlsServerName: SERVER_NAME,
    }),
  );
  try {
    const { namespace } = temporal;
    await connection.workflowService.startWorkflowExecution({
      ...{ namespace, workflowId: 'nobody-runs-this', requestId: 'once' },
      ...{ workflowType: { name: 'nobodyRunsThis' }, taskQueue: { name: 'nobody' } },
    });
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(7 * 86_400);
  } finally {
    await connection.close();
  }
});

it('refuses a client without a certificate', async () => {
  const options = connectionOptions({
    temporalAddress: temporal.address,
    temporalTlsCa: join(directory, 'ca.crt'),
    temporalTlsServerName: SERVER_NAME,
  });

  await expect(Connection.connect({ ...options, connectTimeout: '2s' })).rejects.toThrow();
});

it('is found through one profile by the Temporal CLI and by Slipway', async () => {
  const file = write(
    'temporal.toml',
    `[profile.prod]
address = "${temporal.address}"
namespace = "${temporal.namespace}"
[profile.prod.tls]
client_cert_path = "${join(directory, 'client.crt')}"
client_key_path = "${join(directory, 'client.key')}"
server_ca_cert_path = "${join(directory, 'ca.crt')}"
server_name = "${SERVER_NAME}"
`,
  );
  const environment = { ...process.env, TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'prod' };
  const cli = await ensureBinary('temporal');
  const slipway = join(repositoryRoot(), 'dist', 'cli', 'main.js');

  const health = await run(cli, ['operator', 'cluster', 'health'], environment);
  const setUp = await run(process.execPath, [slipway, 'setup', 'temporal'], environment);

  expect(health).toMatch('SERVING');
  expect(setUp).toMatch(`Temporal at ${temporal.address} has what Slipway needs`);
});

it('knows every setting of the dynamic configuration', async () => {
  const server = await ensureBinary('temporal-server');

  const said = await run(
    server,
    ['validate-dynamic-config', join(DEPLOYED, 'dynamic-config.yaml')],
    process.env,
  );

  expect(said).not.toMatch(/error|warning/);
});

it('is accepted by Kubernetes, as a person applies it', async () => {
  const cluster = await startCluster();
  try {
    const kubectl = await ensureBinary('kubectl');
    const ask = (...args: string[]) =>
      run(kubectl, ['--kubeconfig', cluster.adminKubeconfig, ...args], process.env);
    await ask('create', 'namespace', 'temporal');

    const applied = await ask('apply', '--dry-run=server', '--kustomize', DEPLOYED);

    expect(applied).toMatch(/deployment.apps\/temporal-server created/);
    expect(applied).toMatch(/job.batch\/temporal-schema created/);
  } finally {
    await cluster.stop();
  }
});

it('shows the password in no argument, log or file', () => {
  const { postgres } = temporal;

  for (const pid of [postgres.pid, temporal.pid]) {
    expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).not.toContain(postgres.password);
  }
  for (const log of [postgres.logFile, temporal.logFile]) {
    expect(readFileSync(log, 'utf8')).not.toContain(postgres.password);
    expect(readdirSync(dirname(log))).not.toContain('password');
  }
});

it('leaves no process and no directory behind when the process that started it is killed', async () => {
  const parent = startScript(join(__dirname, 'start-temporal-on-postgres.ts'));
  const started = JSON.parse((await parent.line('{')).trim()) as {
    pids: number[];
    directories: string[];
  };
  expect(started.directories.filter(existsSync)).toHaveLength(2);

  await parent.kill();

  await Promise.all(started.pids.map(gone));
  await Promise.all(started.directories.map(removed));
});
