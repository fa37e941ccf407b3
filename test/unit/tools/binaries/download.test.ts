import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { BinaryName } from '../../../../tools/binaries/catalogue';
import { resolveBinary, type ResolveContext } from '../../../../tools/binaries/resolve';
import { createWorkspace, fakeGo, type Workspace } from './workspace';

/** A release in the layout of its publisher; the program in it prints `released`. */
interface Release {
  readonly name: BinaryName;
  readonly file: string;
  /** Path of the program in a tar.gz. */
  readonly member?: string;
  readonly checksum: string;
  readonly checksumText: (digest: string) => string;
}

const RELEASES: readonly Release[] = [
  {
    name: 'kube-scheduler',
    file: '/release/v1.36.3/bin/linux/amd64/kube-scheduler',
    checksum: '/release/v1.36.3/bin/linux/amd64/kube-scheduler.sha256',
    checksumText: (digest) => digest,
  },
  {
    name: 'etcd',
    file: '/etcd-io/etcd/releases/download/v3.6.16/etcd-v3.6.16-linux-amd64.tar.gz',
    member: 'etcd-v3.6.16-linux-amd64/etcd',
    checksum: '/etcd-io/etcd/releases/download/v3.6.16/SHA256SUMS',
    checksumText: (digest) =>
      `${'0'.repeat(64)}  etcd-v3.6.16-linux-arm64.tar.gz\n` +
      `${digest}  etcd-v3.6.16-linux-amd64.tar.gz\n`,
  },
  {
    name: 'temporal',
    file: '/temporalio/cli/releases/download/v1.8.2/temporal_cli_1.8.2_linux_amd64.tar.gz',
    member: 'temporal',
    checksum: '/temporalio/cli/releases/download/v1.8.2/checksums.txt',
    checksumText: (digest) => `${digest}  temporal_cli_1.8.2_linux_amd64.tar.gz\n`,
  },
  {
    name: 'kwok',
    file: '/kubernetes-sigs/kwok/releases/download/v0.8.0/kwok-linux-amd64',
    checksum: '/repos/kubernetes-sigs/kwok/releases/tags/v0.8.0',
    checksumText: (digest) =>
      JSON.stringify({
        assets: [
          { name: 'kwokctl-linux-amd64', digest: `sha256:${'0'.repeat(64)}` },
          { name: 'kwok-linux-amd64', digest: `sha256:${digest}` },
        ],
      }),
  },
  {
    name: 'ignition-validate',
    file: '/coreos/ignition/releases/download/v2.26.0/ignition-validate-x86_64-linux',
    checksum: '/repos/coreos/ignition/releases/tags/v2.26.0',
    checksumText: (digest) =>
      JSON.stringify({
        assets: [
          { name: 'ignition-validate-aarch64-linux', digest: `sha256:${'0'.repeat(64)}` },
          { name: 'ignition-validate-x86_64-linux', digest: `sha256:${digest}` },
        ],
      }),
  },
];

const ETCD = RELEASES[1] as Release;

describe('official releases, from a local server that imitates their layout', () => {
  let machine: Workspace;
  let server: Server;
  let served: Map<string, string | Buffer>;
  let silent: Set<string>;
  let requests: string[];

  beforeEach(async () => {
    machine = createWorkspace();
    machine.script(join(machine.bin, 'go'), fakeGo('go1.26.4'));
    served = new Map();
    silent = new Set();
    requests = [];
    server = createServer((request, response) => {
      const path = request.url ?? '';
      requests.push(path);
      if (silent.has(path)) return; // accepts, and never answers
      const content = served.get(path);
      response.writeHead(content === undefined ? 404 : 200);
      response.end(content);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });

  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    machine.remove();
  });

  function context(answerTimeoutMs = 20_000): ResolveContext {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const made = machine.context({
      SLIPWAY_RELEASES_GITHUB: base,
      SLIPWAY_RELEASES_GITHUB_API: base,
      SLIPWAY_RELEASES_KUBERNETES: base,
    });
    return { ...made, settings: { ...made.settings, answerTimeoutMs } };
  }

  function publish(
    release: Release,
    alterDigest: (digest: string) => string = (same) => same,
  ): void {
    const content = packaged(release);
    const digest = createHash('sha256').update(content).digest('hex');
    served.set(release.file, content);
    served.set(release.checksum, release.checksumText(alterDigest(digest)));
  }

  function packaged({ member }: Release): Buffer {
    const tree = join(machine.directory, 'release');
    const program = join(tree, member ?? 'program');
    mkdirSync(dirname(program), { recursive: true });
    writeFileSync(program, '#!/bin/sh\necho released\n', { mode: 0o644 });
    if (member === undefined) return readFileSync(program);
    const archive = join(machine.directory, 'release.tar.gz');
    execFileSync('tar', ['-czf', archive, '-C', tree, member]);
    return readFileSync(archive);
  }

  function says(path: string): string {
    return execFileSync(path, { encoding: 'utf8' }).trim();
  }

  it.each(RELEASES)('$name is downloaded, verified and unpacked', async (release) => {
    publish(release);

    const path = await resolveBinary(release.name, context());

    expect(says(path)).toBe('released');
    expect(machine.reported).toEqual([
      expect.stringMatching(/^downloading/),
      expect.stringMatching(/^downloaded and verified/),
    ]);
  });

  it('takes it from the cache the next time', async () => {
    publish(ETCD);
    await resolveBinary('etcd', context());
    requests.length = 0;

    await resolveBinary('etcd', context());

    expect(requests).toEqual([]);
  });

  it('refuses a file that does not have the digest its publisher says', async () => {
    publish(ETCD, (digest) => digest.replace(/^./, (first) => (first === '0' ? '1' : '0')));

    const path = await resolveBinary('etcd', context());

    expect(says(path)).toBe('built');
    expect(machine.reported[1]).toMatch(/SHA-256 [0-9a-f]{64}, its publisher says [0-9a-f]{64}/);
  });

  it('downloads nothing that it could not verify', async () => {
    publish(ETCD);
    served.set(ETCD.checksum, 'no digests today');

    const path = await resolveBinary('etcd', context());

    expect(says(path)).toBe('built');
    expect(requests).toEqual([ETCD.checksum]);
  });

  it('falls through to the build when a file is missing', async () => {
    publish(ETCD);
    served.delete(ETCD.file);

    const path = await resolveBinary('etcd', context());

    expect(says(path)).toBe('built');
    expect(machine.reported[1]).toMatch(/etcd-v3.6.16-linux-amd64.tar.gz answers 404/);
  });

  it('falls through when the server accepts and does not answer', async () => {
    publish(ETCD);
    silent.add(ETCD.checksum);

    const path = await resolveBinary('etcd', context(100));

    expect(says(path)).toBe('built');
    expect(machine.reported[1]).toMatch(/SHA256SUMS did not answer for 0.1 s; building it instead/);
  });

  it('builds at once what its publisher releases for no system', async () => {
    const path = await resolveBinary('ignition', context());

    expect(says(path)).toBe('built');
    expect(requests).toEqual([]);
    expect(machine.reported[0]).toMatch(/^building ignition 2\.26\.0/);
  });

  it('does not ask for a release that its publisher does not make', async () => {
    const made = context();
    const darwin = { ...made.settings, platform: { os: 'darwin', arch: 'arm64' } };

    const path = await resolveBinary('kube-apiserver', { ...made, settings: darwin });

    expect(says(path)).toBe('built');
    expect(requests).toEqual([]);
  });
});
