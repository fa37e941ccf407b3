/** A real root with real inotify, and a server that answers from the test. */

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createPathWatch } from '../../../../adapters/host';
import { fail } from '../../../../core/errors';
import {
  type BundleFile,
  type BundleReport,
  bundleOfPool,
  type HostBundle,
} from '../../../../core/host-bundle';
import { followBundle } from '../../../../host/bundle/follow-bundle';
import { createExclusive } from '../../../../host/exclusive';
import { newAuthority } from '../../../../tools/cluster/certificates';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../a-host';

const CA = '/etc/kubernetes/kubelet-ca.crt';
const PULL = '/var/lib/kubelet/config.json';
const REGISTRY = '/etc/docker/certs.d/registry:5000/ca.crt';
const KUBECONFIG = '/etc/kubernetes/kubelet.conf';
const CONFIG = aConfig('rendered-worker-1', {
  config: { storage: { files: [aFile(CA, 'of the config'), aFile('/etc/a', 'a')] } },
});
const WITH_PULL_SECRET = aConfig('rendered-worker-1', {
  config: { storage: { files: [aFile(PULL, 'of the config', 0o600)] } },
});

function file(path: string, text: string, mode: BundleFile['mode'] = 0o644): BundleFile {
  return { path, mode, content: Buffer.from(text).toString('base64') };
}

function bundle(
  files: readonly BundleFile[],
  more: { apiServerAuthority?: string; keeps?: string[] } = {},
): HostBundle {
  return bundleOfPool('worker', {
    files,
    keeps: [],
    keepsRegistries: false,
    problems: [],
    ...more,
  });
}

let host: TestHost;
let stop: AbortController;
let reports: BundleReport[];
let given: HostBundle | undefined;
let heard: () => void;
let changed: () => void;
let running: Promise<void>[];
let tried: string[];
let refusal: Error | undefined;
/** Reports that the server refuses for an hour. */
let isRefused: (report: BundleReport) => boolean;
let exclusive: ReturnType<typeof createExclusive>;

beforeEach(() => {
  stop = new AbortController();
  [reports, running, tried] = [[], [], []];
  [given, refusal] = [undefined, undefined];
  isRefused = () => false;
  [heard, changed] = [() => undefined, () => undefined];
  exclusive = createExclusive();
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  host.remove();
});

async function start(config = CONFIG): Promise<void> {
  host = await aHost([config]);
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(config, 'p'));
  await activities.applyUpdate(orderFor(config, 'a'));
  await activities.verifyUpdate(orderFor(config, 'v'));
  await activities.commitUpdate(orderFor(config, 'c'));
  host.serviceActions.length = 0;
}

const AN_HOUR = 3_600_000;

async function follow({ kubelets = 0 } = {}): Promise<void> {
  const ports = await host.ports();
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  running.push(
    followBundle(
      {
        ...ports,
        now: () => new Date(),
        kubeletUnit: () => 'kubelet.service',
        watch: (on) => createPathWatch({ root: host.root, ...on }),
        tryAuthority: async (server) => {
          tried.push(server);
          if (refusal !== undefined) throw refusal;
        },
        ask: async (report, signal) => {
          reports.push(report);
          heard();
          if (isRefused(report)) {
            throw fail('ConfigFetchFailed', 'away', { retryAfter: AN_HOUR / 1000 });
          }
          while (given === undefined || given.digest === report.given) {
            signal.throwIfAborted();
            await new Promise<void>((resolve) => {
              changed = resolve;
              signal.addEventListener('abort', () => resolve(), { once: true });
            });
          }
          return given;
        },
      },
      {
        exclusive,
        signal: stop.signal,
        log: quiet,
        random: () => 1,
        timing: {
          ...{ quiet: 1, busy: 1, kubelets, patience: 1, retry: 1 },
          longest: { ask: 1, write: 1 },
        },
      },
    ),
  );
}

function give(next: HostBundle): void {
  given = next;
  changed();
}

async function reported(holds: (report: BundleReport) => boolean): Promise<BundleReport> {
  for (;;) {
    const last = reports.at(-1);
    if (last !== undefined && holds(last)) return last;
    await new Promise<void>((resolve) => {
      heard = resolve;
    });
  }
}

const has = ({ digest }: HostBundle) => reported((report) => report.digest === digest);
const onDisk = (path: string) => readFileSync(join(host.root, path), 'utf8');
const modeOf = (path: string) => statSync(join(host.root, path)).mode & 0o7777;

function put(path: string, text: string): void {
  mkdirSync(dirname(join(host.root, path)), { recursive: true });
  writeFileSync(join(host.root, path), text);
}

it('writes a bundle, secrets for root alone, and says that it has it', async () => {
  await start();
  await follow();
  const next = bundle([file(CA, 'new'), file(PULL, '{}', 0o600), file(REGISTRY, 'ca')]);
  give(next);

  expect(await has(next)).toEqual({ digest: next.digest, given: next.digest });
  expect([onDisk(CA), onDisk(PULL), onDisk(REGISTRY)]).toEqual(['new', '{}', 'ca']);
  expect(modeOf(PULL)).toBe(0o600);
  expect(host.serviceActions).toEqual([]);
  expect(await (await host.ports()).journal.open()).toBeUndefined();
});

it('narrows the mode of a secret that others could read', async () => {
  await start();
  put(PULL, '{}');
  await follow();
  const next = bundle([file(PULL, '{}', 0o600)]);
  give(next);
  await has(next);

  expect(modeOf(PULL)).toBe(0o600);
});

it('removes the authorities of a registry that is gone, and no others', async () => {
  await start();
  put('/etc/docker/certs.d/of-a-person/ca.crt', 'mine');
  await follow();
  const first = bundle([file(REGISTRY, 'ca'), file(PULL, '{}', 0o600)]);
  give(first);
  await has(first);
  const kept = bundle([], { keeps: [REGISTRY] });
  give(kept);
  await has(kept);
  expect(onDisk(REGISTRY)).toBe('ca');
  const second = bundle([]);
  give(second);
  await has(second);

  expect(existsSync(join(host.root, dirname(REGISTRY)))).toBe(false);
  expect(onDisk('/etc/docker/certs.d/of-a-person/ca.crt')).toBe('mine');
  expect(onDisk(PULL)).toBe('{}');
});

it('leaves a path of the config to it, and says so', async () => {
  await start(WITH_PULL_SECRET);
  await follow();
  const next = bundle([file(PULL, '{}', 0o600)]);
  give(next);

  expect((await has(next)).leftToConfig).toEqual([PULL]);
  expect(onDisk(PULL)).toBe('of the config');
});

it('writes again what somebody else has changed', async () => {
  await start();
  await follow();
  const next = bundle([file(CA, 'new')]);
  give(next);
  await has(next);
  put(CA, 'old');

  while (onDisk(CA) !== 'new') await new Promise((resolve) => setImmediate(resolve));
});

describe('the authority of the API server', () => {
  let pem: string;
  beforeAll(async () => {
    pem = (await newAuthority('api')).certificate;
  });

  const kubeconfig = (authority: string) =>
    `clusters:\n- cluster:\n    certificate-authority-data: ${Buffer.from(authority).toString('base64')}\n    server: https://api:6443\n`;

  it('is written into the kubeconfig once it has been tried, and the kubelet starts again', async () => {
    await start();
    put(KUBECONFIG, kubeconfig('old'));
    await follow();
    const next = bundle([], { apiServerAuthority: pem });
    give(next);
    await has(next);

    expect(onDisk(KUBECONFIG)).toBe(kubeconfig(pem));
    expect(tried).toEqual(['https://api:6443']);
    expect(host.serviceActions).toEqual([{ action: 'restart', service: 'kubelet.service' }]);
  });

  it('changes nothing when the API server is not recognised by it', async () => {
    await start();
    put(KUBECONFIG, kubeconfig('old'));
    refusal = new Error('self-signed certificate');
    await follow();
    const next = bundle([file(PULL, '{}', 0o600)], { apiServerAuthority: pem });
    give(next);

    const { problem, given: seen } = await reported((report) => report.problem !== undefined);
    expect(problem).toMatch(
      /https:\/\/api:6443 is not recognised by spec\.rootCAData .*self-signed/,
    );
    expect(seen).toBe(next.digest);
    expect(existsSync(join(host.root, PULL))).toBe(false);
    expect(onDisk(KUBECONFIG)).toBe(kubeconfig('old'));
    refusal = undefined;
    await has(next);
    expect(onDisk(PULL)).toBe('{}');
  });

  it('gives way to a newer bundle while the restart of the kubelet has not had its turn', async () => {
    await start();
    put(KUBECONFIG, kubeconfig(pem));
    await follow({ kubelets: AN_HOUR });
    const first = bundle([], { apiServerAuthority: pem });
    give(first);
    await has(first);
    const wrong = bundle([], { apiServerAuthority: `${pem}${pem}` });
    give(wrong);
    await reported((report) => report.given === wrong.digest);
    const right = bundle([file(CA, 'new')], { apiServerAuthority: pem });
    give(right);
    await has(right);

    expect(onDisk(CA)).toBe('new');
    expect(onDisk(KUBECONFIG)).toBe(kubeconfig(pem));
    expect(host.serviceActions).toEqual([]);
  });

  it('tells the server what is new also while it waits after a refusal', async () => {
    await start();
    put(KUBECONFIG, kubeconfig('old'));
    refusal = new Error('self-signed certificate');
    isRefused = ({ problem }) => problem !== undefined;
    await follow();
    const next = bundle([], { apiServerAuthority: pem });
    give(next);
    await reported((report) => report.problem !== undefined);
    refusal = undefined;

    expect(await has(next)).toEqual({ digest: next.digest, given: next.digest });
  });

  it('says nothing of an earlier bundle when it was given another one', async () => {
    await start();
    put(KUBECONFIG, kubeconfig('old'));
    refusal = new Error('self-signed certificate');
    await follow();
    give(bundle([], { apiServerAuthority: pem }));
    await reported((report) => report.problem !== undefined);
    let goOn = (): void => undefined;
    const working = exclusive(() => new Promise<void>((resolve) => (goOn = resolve)));
    const next = bundle([]);
    give(next);

    expect(await reported((report) => report.given === next.digest)).toEqual({
      given: next.digest,
    });
    goOn();
    await working;
    await has(next);
  });
});

it('says at once that it was given a bundle, and waits for the work on the machine', async () => {
  await start();
  await follow();
  let goOn = (): void => undefined;
  const working = exclusive(() => new Promise<void>((resolve) => (goOn = resolve)));
  const next = bundle([file(CA, 'new')]);
  give(next);

  expect(await reported((report) => report.given === next.digest)).toEqual({ given: next.digest });
  expect(onDisk(CA)).toBe('of the config');
  goOn();
  await working;
  await has(next);
});

it('waits for an update that is under way', async () => {
  await start();
  const ports = await host.ports();
  const status = await ports.os.status();
  const journal = await ports.journal.begin('update', {
    orderId: 'update',
    driver: ports.os.name,
    target: CONFIG.reference,
    previousDeployment: status.booted.id,
    before: { bootId: status.bootId, kernelArguments: [], extensions: [], kernelType: 'default' },
    node: ports.node,
    plan: {} as never,
  });
  await follow();
  const next = bundle([file(CA, 'new')]);
  give(next);

  await reported((report) => report.given === next.digest);
  expect(onDisk(CA)).toBe('of the config');
  await journal.close();
  await has(next);
  expect(onDisk(CA)).toBe('new');
});
