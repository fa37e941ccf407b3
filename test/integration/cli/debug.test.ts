/**
 * `slipway debug` against a real API server. KWOK plays the kubelet: its exec endpoint is that of a kubelet, and runs
 * the command on this machine; it tells no exit codes. A program named chroot stands in for the real one, because there is no /host here.
 */

import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectKube, type KubeClient } from '../../../adapters/kube/client';
import { DEPLOYMENTS, NAMESPACES, PODS } from '../../../adapters/kube/resources';
import { EXIT } from '../../../cli/exit-codes';
import { eventually, recordedLog } from '../kube/fixture';
import { emptyCluster } from '../support/empty-cluster';
import { takeControlPlane } from '../support/taken-control-plane';
import { playKubelet, type PlayedKubelet } from './support/kubelet';
import { type CliRun, runCli } from './support/run-cli';

jest.setTimeout(60_000);

const plane = takeControlPlane();
let kubelet: PlayedKubelet;
let admin: KubeClient;
let directory: string;

const PROGRAMS = {
  chroot: '#!/bin/sh\nshift\nexec "$@"\n',
  journalctl: '#!/bin/sh\necho "$@" "password=plant-journal"\n',
  find: '#!/bin/sh\necho "-rw------- root:root 12 2026-01-01 /var/lib/slipway/runs.json"\n',
  slipway: '#!/bin/sh\necho \'{"config":"rendered-worker-1","token":"plant-status"}\'\n',
};

beforeAll(async () => {
  await plane.start('kube-apiserver');
  await emptyCluster(plane.layout);
  directory = mkdtempSync(join(tmpdir(), 'slipway-debug-'));
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  for (const [name, text] of Object.entries(PROGRAMS)) {
    writeFileSync(join(bin, name), text, { mode: 0o755 });
  }
  const path = `${bin}:${process.env['PATH'] ?? ''}`;
  kubelet = await playKubelet(plane.layout, { PATH: path });
  admin = await connectKube({
    ...{ kubeconfig: plane.layout.adminKubeconfig, userAgent: 'slipway-tests', log: recordedLog() },
  });
  await admin.create(NAMESPACES, { metadata: { name: 'slipway' } });
  await kubelet.addNode(admin, {
    metadata: { name: 'w1' },
    spec: {
      unschedulable: true,
      taints: [{ key: 'broken', effect: 'NoExecute' }],
    },
  });
}, 300_000);

afterEach(async () => {
  const { items } = await admin.list(PODS);
  expect(items.map(({ metadata }) => metadata.name)).toEqual([]);
});

afterAll(async () => {
  await kubelet?.stop();
  admin?.close();
  rmSync(directory, { recursive: true, force: true });
});

function debug(args: readonly string[], options?: Parameters<typeof runCli>[1]): Promise<CliRun> {
  return runCli(['--kubeconfig', plane.layout.adminKubeconfig, 'debug', ...args], options);
}

const IMAGE = ['--image', 'reg.example/tools:1'];

it('runs a command on a cordoned and tainted machine, and deletes its pod', async () => {
  const run = await debug(['w1', ...IMAGE, '--', 'sh', '-c', 'echo out; echo err >&2']);

  expect([run.code, run.out, run.err]).toEqual([
    EXIT.OK,
    'out\n',
    expect.stringContaining('err\n'),
  ]);
});

it('gives its input to the shell, as a script', async () => {
  const run = await debug(['w1', ...IMAGE], { input: 'echo $((6 * 7))\nexit 0\n' });

  expect(run).toMatchObject({ code: EXIT.OK, out: '42\n' });
});

it('gives its input to a command with --stdin', async () => {
  const input = 'from here\n';

  const run = await debug(['w1', ...IMAGE, '--stdin', '--', 'head', '-n', '1'], { input });

  expect(run).toMatchObject({ code: EXIT.OK, out: input });
});

it('passes on more than fits into one message', async () => {
  const run = await debug(['w1', ...IMAGE, '--', 'head', '-c', '3000000', '/dev/zero']);

  if (run.code !== EXIT.OK) throw new Error(run.err);
  expect(run.out).toHaveLength(3_000_000);
});

it('runs in the image with --no-chroot', async () => {
  const run = await debug(['w1', ...IMAGE, '--no-chroot', '--', 'echo', 'chroot']);

  expect(run).toMatchObject({ code: EXIT.OK, out: 'chroot\n' });
});

it('is privileged, and has the machine', async () => {
  const interrupt = new AbortController();
  const running = debug(['w1', ...IMAGE, '--', 'sleep', '600'], { signal: interrupt.signal });
  const pod = await eventually(async () => {
    const { items } = await admin.list(PODS, { namespace: 'slipway' });
    const [found] = items;
    if (found?.status?.phase !== 'Running') throw new Error('it does not run yet');
    return found;
  });
  interrupt.abort('SIGINT');
  const { code, err } = await running;

  expect(pod.spec).toMatchObject({
    ...{ nodeName: 'w1', hostNetwork: true, hostPID: true, hostIPC: true },
    containers: [
      {
        image: 'reg.example/tools:1',
        securityContext: { privileged: true },
        volumeMounts: [{ name: 'host', mountPath: '/host' }],
      },
    ],
    volumes: [{ name: 'host', hostPath: { path: '/' } }],
  });
  expect(code).toBe(EXIT.FAILED);
  expect(err).toContain('interrupted; the pod is deleted');
});

it('takes the image of Slipway, where it knows it', async () => {
  const without = await debug(['w1', '--', 'true']);
  expect(without).toMatchObject({ code: EXIT.USAGE });
  expect(without.err).toContain('name an image with --image');

  await admin.create(DEPLOYMENTS, {
    metadata: { name: 'slipway-cluster-worker', namespace: 'slipway' },
    spec: {
      ...{ replicas: 0, selector: { matchLabels: { app: 'a' } } },
      template: {
        metadata: { labels: { app: 'a' } },
        spec: { containers: [{ name: 'main', image: 'reg.example/slipway:1' }] },
      },
    },
  } as never);
  const run = await debug(['w1', '--', 'true']);
  expect(run.code).toBe(EXIT.OK);
  expect(run.err).toContain('with image reg.example/slipway:1');
});

it.each([
  ['a node', ['w2', ...IMAGE], 'w2'],
  ['a namespace', ['w1', ...IMAGE, '-n', 'nowhere'], 'nowhere'],
])('%s that is not there is named', async (_what, args, name) => {
  const { code, err } = await debug(args);

  expect(code).toBe(EXIT.NOT_FOUND);
  expect(err).toContain(`"${name}" not found`);
});

it('a namespace that admits no privileged pod is named, with the command', async () => {
  await admin.create(NAMESPACES, {
    metadata: {
      name: 'restricted',
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
    },
  });
  const { code, err } = await debug(['w1', ...IMAGE, '--namespace', 'restricted']);

  expect(code).toBe(EXIT.FAILED);
  expect(err).toContain(
    'kubectl label namespace restricted pod-security.kubernetes.io/enforce=privileged --overwrite',
  );
});

it.each([
  [['w1', '--output', 'x'], '--output is for an archive'],
  [['w1', '--collect', '--', 'true'], 'leave yours out'],
])('refuses %j', async (args, says) => {
  const { code, err } = await debug(args);

  expect(code).toBe(EXIT.USAGE);
  expect(err).toContain(says);
});

it('collects what the host worker logged, without secrets', async () => {
  const file = join(directory, 'host.tar.gz');
  const run = await debug(['w1', ...IMAGE, '--collect', '--output', file]);

  expect(run).toMatchObject({ code: EXIT.OK, out: `${file}\n` });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const to = join(directory, 'host');
  mkdirSync(to);
  execFileSync('tar', ['-xzf', file, '-C', to]);
  const read = (path: string) => readFileSync(join(to, path), 'utf8');
  const journal = read('journal/last-boot/slipway-host.log');
  expect(journal).toContain('-b -1');
  expect(journal).toContain('-u slipway-host*');
  expect(journal).toContain('password=(redacted)');
  expect(JSON.parse(read('host-status.json'))).toMatchObject({ config: 'rendered-worker-1' });
  expect(read('slipway-files.txt')).toContain('/var/lib/slipway/runs.json');
  expect(read('manifest.json')).toContain('"node": "w1"');
  const files = readdirSync(to, { recursive: true, encoding: 'utf8' });
  const all = files.filter((path) => statSync(join(to, path)).isFile()).map(read);
  expect(all.filter((text) => text.includes('plant-'))).toEqual([]);
});

/** The last: nobody plays the kubelet then. */
it('says why the pod does not run', async () => {
  await kubelet.stop();
  const running = debug(['w1', ...IMAGE, '--', 'true']);
  await eventually(async () => {
    const { items } = await admin.list(PODS, { namespace: 'slipway' });
    const [name = 'none'] = items.map(({ metadata }) => metadata.name);
    const waiting = { reason: 'ImagePullBackOff', message: 'no such host' };
    const status = {
      containerStatuses: [
        {
          name: 'debug',
          image: '',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { waiting },
        },
      ],
    };
    await admin.patch(PODS, { name, namespace: 'slipway', subresource: 'status' }, { status });
  });
  const { code, err } = await running;

  expect(code).toBe(EXIT.FAILED);
  expect(err).toContain('does not run: ImagePullBackOff: no such host');
});
