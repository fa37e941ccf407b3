/**
 * Runs every command of README.md and of the pages that it names, in order, in one shell, from a fresh clone,
 * against the development cluster. Machines are simulated; the programs of pods run beside the cluster
 * (support/pods.ts).
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parse } from 'yaml';
import type { Node } from '../../core/node/types';
import { ensureBinary } from '../../tools/binaries';
import { type Cluster, createNodes, startCluster } from '../../tools/cluster';
import { type ManagedProcess, startProcess } from '../../tools/processes/managed-process';
import { adoptDirectory } from '../../tools/processes/watchdog';
import { repositoryRoot } from '../../tools/repository-root';
import { startTemporal, type TemporalServer } from '../../tools/temporal';
import { freshClone, pathOfUser, withoutOurs } from './support/fresh-clone';
import { readDocumentedPages } from './support/documented-pages';
import { runPods } from './support/pods';

const MINUTES = 60_000;
// Some minutes on two idle cores: npm packages, two compilations, the demo, three rollouts.
jest.setTimeout(40 * MINUTES);

const ROOT = repositoryRoot();
const REGISTRY = 'registry.example.net';
const WORKERS = ['worker-0', 'worker-1'];
const CONTROL_PLANE = 'control-plane-0';

const pages = readDocumentedPages(ROOT, 'README.md');

let directory = '';
let disown = (): void => undefined;
const running: ManagedProcess[] = [];
let cluster: Cluster;
let temporal: TemporalServer;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-documented-'));
  disown = adoptDirectory(directory);
  [cluster, temporal] = await Promise.all([
    startCluster(),
    // As on a new server: without Slipway's namespace and search attributes.
    startTemporal({ namespace: 'default', searchAttributes: [], ui: false }),
  ]);
  await createNodes(cluster, [
    {
      name: CONTROL_PLANE,
      labels: {
        'node-role.kubernetes.io/control-plane': '',
        'node-role.kubernetes.io/master': '',
      },
    },
    ...WORKERS.map((name) => ({ name })),
  ]);
});

afterAll(async () => {
  await Promise.all(running.map(endGroup));
  await temporal?.stop();
  await cluster?.stop();
  rmSync(directory, { recursive: true, force: true });
  disown();
});

it('each command of README.md and of the pages for newcomers does what it says', async () => {
  const clone = freshClone(directory);
  const ended = new AbortController();
  const shell = await startShell(clone);
  const machinery = playCluster(clone, ended.signal);
  const outcome = await Promise.race([shell.exited, failureOf(machinery)]);
  ended.abort(new Error('the commands have ended'));

  if (outcome !== 'exit status 0') throw new Error(`${outcome}\n${lastWords()}`);
  const { images, authorityFile } = await machinery;
  expect(images).toEqual(images.map(() => `${REGISTRY}/slipway:${versionOf(clone)}`));
  // The last page uninstalls everything.
  expect(await leftOn(WORKERS)).toEqual(WORKERS.map(() => []));
  expect(machineSettings(clone)).toMatchObject({
    gatewayAddress: 'localhost:32625',
    serverUrl: 'https://localhost:32624',
    // The simulated machines get the same authority through a flag.
    authorityFile: '/etc/slipway/server-ca.crt',
  });
  expect(readFileSync(join(clone, 'site/installer/server-ca.crt'))).toEqual(
    readFileSync(authorityFile),
  );
  for (const name of WORKERS) {
    const written = readFileSync(join(directory, 'hosts', name, 'etc/chrony.conf'), 'utf8');
    expect(written).toContain('pool ntp.example.com iburst');
  }
});

const logOf = (name: string): string => join(directory, 'logs', `${name}.log`);

/** One bash for all pages; the first failing command ends it and is named with page and line. */
async function startShell(clone: string): Promise<ManagedProcess> {
  const scripts = join(directory, 'pages');
  for (const { path, script } of pages) {
    mkdirSync(dirname(join(scripts, path)), { recursive: true });
    writeFileSync(join(scripts, path), script);
  }
  const session = [
    'set -eEuo pipefail',
    `PS4='+ \${BASH_SOURCE[0]#"$PAGES"/}:$LINENO: '`,
    `trap 'printf "\\n%s:%s failed: %s\\n" "\${BASH_SOURCE[0]#"$PAGES"/}" "$LINENO" "$BASH_COMMAND"' ERR`,
    'set -x',
    `cd ${clone}`,
    '. "$PAGES/README.md"',
  ];
  writeFileSync(join(scripts, 'session'), session.join('\n'));
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  symlinkSync(await ensureBinary('kubectl'), join(programs, 'kubectl'));
  const shell = await startProcess({
    name: 'commands',
    command: 'env',
    args: [...withoutOurs(), 'bash', join(scripts, 'session')],
    logFile: logOf('commands'),
    environment: {
      PATH: [programs, ...pathOfUser()].join(delimiter),
      PAGES: scripts,
      KUBECONFIG: cluster.adminKubeconfig,
      ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_TLS: 'false' },
      ...{ REGISTRY, SERVER: 'localhost' },
      npm_config_prefer_offline: 'true',
    },
  });
  running.push(shell);
  return shell;
}

async function playCluster(clone: string, signal: AbortSignal) {
  const pods = await runPods(cluster, { build: clone, directory: join(directory, 'logs'), signal });
  running.push(...pods.processes);
  const nodes = [CONTROL_PLANE, ...WORKERS];
  await cluster.nodeCredentialsBulk(nodes);
  const machines = await startProcess({
    name: 'machines',
    command: join(clone, 'bin', 'slipway'),
    args: [
      'host-worker',
      ...['--nodes', nodes.join(','), '--base-directory', join(directory, 'hosts')],
      ...['--credentials-directory', join(cluster.directory, 'credentials', 'nodes')],
      ...['--authority-file', pods.authorityFile, '--server-url', pods.hostEndpoint],
      // As the installer would bring it.
      ...['--order-keys-file', join(clone, 'site/installer/order-keys.json')],
      ...['--api-server', cluster.server, '--api-server-authority-file', cluster.caFile],
      ...['--gateway-address', pods.gateway, '--reboot-seconds', '2'],
    ],
    logFile: logOf('machines'),
  });
  running.push(machines);
  return pods;
}

/** Settles only with a failure. */
function failureOf(work: Promise<unknown>): Promise<string> {
  return new Promise((resolve) => {
    work.catch((error: unknown) => {
      resolve(`the cluster could not be played: ${String(error)}`);
    });
  });
}

const TAIL = 6_000;

function lastWords(): string {
  return running
    .map(({ name, logFile }) => {
      const end = readFileSync(logFile, 'utf8').slice(name === 'commands' ? -TAIL : -TAIL / 4);
      return `── ${name}\n${end}`;
    })
    .join('\n');
}

function versionOf(clone: string): string {
  const text = readFileSync(join(clone, 'package.json'), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}

/** Annotations of Slipway and MCO on these nodes, and Slipway's taint. */
async function leftOn(names: readonly string[]): Promise<readonly (readonly string[])[]> {
  return Promise.all(
    names.map(async (name) => {
      const { metadata, spec } = await cluster.admin.call<Node>('GET', `/api/v1/nodes/${name}`);
      const annotations = Object.keys(metadata.annotations ?? {});
      const taints = (spec?.taints ?? []).map(({ key }) => key);
      return [...annotations, ...taints].filter((key) => OURS.test(key));
    }),
  );
}

const OURS = /^(slipway\.dev\/|machineconfiguration\.openshift\.io\/|UpdateInProgress$)/;

function machineSettings(clone: string): unknown {
  return parse(readFileSync(join(clone, 'site/installer/host.yaml'), 'utf8'));
}

async function endGroup(one: ManagedProcess): Promise<void> {
  try {
    process.kill(-one.pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  await one.stop();
}
