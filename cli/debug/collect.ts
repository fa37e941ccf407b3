/** What a machine's host worker logged and left, over a debug pod. */

import { Writable } from 'node:stream';
import type { KubeClient } from '../../adapters/kube/client';
import { execInPod } from '../../adapters/kube/exec';
import type { Bundle } from '../support/bundle';
import { CONTAINER, HOST } from './pod';

interface CollectOptions {
  readonly pod: string;
  readonly namespace: string;
  readonly sinceSeconds: number;
  readonly signal: AbortSignal;
}

const BOOTS = { 'this-boot': '0', 'last-boot': '-1', 'boot-before': '-2' } as const;
/** Of one command, of which the last 4 MiB stay. */
const MOST_BYTES = 16 * 1024 * 1024;
const LOG_LINES = 50_000;
const OWN = 'slipway-host*';
const KUBELETS = ['kubelet.service', 'k3s*.service', 'rke2*.service', 'k0sworker.service'];
const UPDATERS = ['rpm-ostreed.service', 'ostree-finalize-staged.service', 'bootc*.service'];

/** Name of the file → command on the machine; `wants` = a program that not every machine has. */
const FACTS: readonly (readonly [file: string, argv: readonly string[], wants?: string])[] = [
  ['os-release.txt', ['cat', '/etc/os-release']],
  ['kernel.txt', ['uname', '-a']],
  ['boots.txt', ['journalctl', '--no-pager', '--list-boots']],
  ['units.txt', ['systemctl', '--no-pager', '--full', 'status', OWN, ...KUBELETS]],
  ['failed-units.txt', ['systemctl', '--no-pager', 'list-units', '--failed']],
  ['disks.txt', ['df', '-h']],
  ['clock.txt', ['timedatectl', 'status']],
  ['host-status.json', ['slipway', 'host', 'status', '-o', 'json'], 'slipway'],
  ['rpm-ostree.json', ['rpm-ostree', 'status', '--json'], 'rpm-ostree'],
  ['bootc.json', ['bootc', 'status', '--format', 'json'], 'bootc'],
  ['ostree.txt', ['ostree', 'admin', 'status'], 'ostree'],
];

export async function collectHost(
  client: KubeClient,
  bundle: Bundle,
  options: CollectOptions,
): Promise<void> {
  for (const [file, argv, wants] of FACTS) {
    await bundle.collect(file, async () => {
      if (wants !== undefined && !(await has(wants))) return;
      const { text, said, code } = await run(argv);
      // systemctl ends with 3 where a unit is inactive, slipway with 4 where something is wrong.
      await bundle.text(file, text === '' ? `exit code ${code}: ${said}\n` : text);
    });
  }
  await bundle.collect('slipway-files.txt', files);
  for (const [name, boot] of Object.entries(BOOTS)) {
    for (const [file, units] of [
      ['slipway-host', [OWN]],
      ['kubelet', KUBELETS],
      ['updaters', UPDATERS],
    ] as const) {
      await bundle.collect(`journal/${name}/${file}.log`, () =>
        journal(`${name}/${file}`, boot, units),
      );
    }
  }

  /** Of a boot; there may have been fewer. */
  async function journal(name: string, boot: string, units: readonly string[]): Promise<void> {
    const { text, said, code } = await run([
      ...['journalctl', '--no-pager', '-o', 'short-iso', '-b', boot, '-n', String(LOG_LINES)],
      ...['--since', `-${Math.ceil(options.sinceSeconds)}s`],
      ...units.flatMap((unit) => ['-u', unit]),
    ]);
    if (code !== 0) throw new Error(said.trim() || `journalctl ended with exit code ${code}`);
    await bundle.text(`journal/${name}.log`, text);
  }

  /** A digest of a file that holds a password would tell whoever guesses it, so it becomes a fingerprint. */
  async function files(): Promise<void> {
    const list = ['find', '/var/lib/slipway', '/etc/machine-config-daemon'];
    const { text } = await run([...list, '-printf', '%M %u:%g %s %TY-%Tm-%TdT%TH:%TM:%TS %p\n']);
    const digests = await run([...list, '-type', 'f', '-exec', 'sha256sum', '{}', '+']);
    const fingerprints = digests.text.replace(/^\\?([0-9a-f]{64})/gm, (_all, digest: string) =>
      bundle.fingerprint(digest),
    );
    await bundle.text('slipway-files.txt', `${text}\n${fingerprints}`);
  }

  async function has(program: string): Promise<boolean> {
    return (await run(['sh', '-c', `command -v ${program}`])).code === 0;
  }

  async function run(argv: readonly string[]) {
    const output = new Collected(MOST_BYTES);
    const errors = new Collected(MOST_BYTES);
    const { pod, namespace, signal } = options;
    const command = ['chroot', HOST, ...argv];
    const where = { pod, namespace, container: CONTAINER };
    const code = await execInPod(client, { ...where, command, output, errors, signal });
    return { code, text: output.text, said: errors.text };
  }
}

/** The last bytes that were written. */
class Collected extends Writable {
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(readonly most: number) {
    super();
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes - (this.#chunks[0]?.length ?? 0) > this.most) {
      this.#bytes -= this.#chunks.shift()?.length ?? 0;
    }
    done();
  }
}
