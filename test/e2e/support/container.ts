/** Builds the image with buildah, which comes from Debian, and runs it as a container runtime does. */

import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { startProcess, type ManagedProcess } from '../../../tools/processes/managed-process';

const run = promisify(execFile);

const PACKAGES = { buildah: '/usr/bin/buildah' };

export function requireContainerTools(): void {
  const missing = Object.entries(PACKAGES).flatMap(([name, file]) =>
    existsSync(file) ? [] : [name],
  );
  if (missing.length === 0) return;
  const options = ['-y', '-qq', '--no-install-recommends'];
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  execFileSync('apt-get', ['install', ...options, ...missing], { env, stdio: 'ignore' });
}

interface BaseParts {
  /** Modules of the image whose libraries the base has to bring. */
  readonly native: readonly string[];
  /** Paths of programs that the image runs, beside the shell and Node. */
  readonly programs: readonly string[];
}

/**
 * In place of the official image of Node, which only a registry of images has: this machine's Node, shell and
 * libraries, and nothing else.
 */
async function layBase(directory: string, { native, programs }: BaseParts): Promise<void> {
  const libraries = new Set<string>();
  // The native module of the Temporal SDK needs libraries of glibc that Node does not.
  for (const binary of ['/bin/sh', process.execPath, ...programs, ...native]) {
    const { stdout } = await run('ldd', [binary]);
    for (const [path] of stdout.matchAll(/\/[^\s()]+/g)) libraries.add(path);
  }
  for (const path of libraries) await place(path, join(directory, path));
  for (const path of programs) await place(path, join(directory, path));
  await place('/bin/sh', join(directory, 'bin/sh'));
  await place(process.execPath, join(directory, 'usr/local/bin/node'));
  for (const mounted of ['proc', 'dev', 'mnt'])
    await mkdir(join(directory, mounted), { recursive: true });
}

async function place(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to);
}

export interface Image {
  readonly digest: string;
  readonly mebibytes: number;
}

/** A storage of its own, that no other run sees. */
export class Containers {
  /** Options of buildah. */
  readonly storage: readonly string[];
  readonly #running: ManagedProcess[] = [];

  constructor(private readonly directory: string) {
    this.storage = [
      ...['--root', join(directory, 'storage'), '--runroot', join(directory, 'run')],
      ...['--storage-driver', 'vfs'],
    ];
  }

  async base(name: string, parts: BaseParts): Promise<void> {
    const context = join(this.directory, 'base');
    await mkdir(context, { recursive: true });
    await layBase(join(context, 'rootfs'), parts);
    await writeFile(join(context, 'Containerfile'), 'FROM scratch\nCOPY rootfs /\n');
    await this.#buildah('build', '--isolation', 'chroot', '--timestamp', '0', '-t', name, context);
  }

  async build(containerfile: string, context: string, name: string, base: string): Promise<Image> {
    const options = ['--isolation', 'chroot', '--timestamp', '0', '--no-cache', '--pull-never'];
    const args = [
      ...options,
      '--build-arg',
      `BASE=${base}`,
      '-f',
      containerfile,
      '-t',
      name,
      context,
    ];
    await this.#buildah('build', ...args);
    const listed = JSON.parse(await this.#buildah('inspect', '--type', 'image', name)) as {
      readonly FromImageDigest: string;
    };
    const sizes = JSON.parse(await this.#buildah('images', '--json', name)) as readonly {
      readonly size: string;
    }[];
    return { digest: listed.FromImageDigest, mebibytes: Number.parseFloat(sizes[0]?.size ?? '0') };
  }

  /** As `ctr images import` takes it, under the name that pods use. */
  async archive(image: string, file: string): Promise<void> {
    await this.#buildah('push', '--quiet', image, `oci-archive:${file}:${image}`);
  }

  /** Over plain HTTP. */
  async pull(reference: string, name: string): Promise<void> {
    const options = ['--quiet', '--tls-verify=false'];
    const id = (await this.#buildah('pull', ...options, reference)).trim();
    await this.#buildah('tag', id, name);
  }

  /** Over plain HTTP. @returns the reference with its digest */
  async push(name: string, to: string): Promise<string> {
    const digestFile = join(this.directory, 'pushed');
    const options = ['--quiet', '--tls-verify=false', '--digestfile', digestFile];
    await this.#buildah('push', ...options, name, `docker://${to}`);
    const [repository = ''] = to.split(/:(?=[^/]+$)/);
    return `${repository}@${(await readFile(digestFile, 'utf8')).trim()}`;
  }

  /** Where the files of a new container of the image are. */
  async rootOf(image: string): Promise<string> {
    const container = (await this.#buildah('from', '--pull-never', image)).trim();
    return (await this.#buildah('mount', container)).trim();
  }

  /** As the kubelet starts it: with the security context of the manifest, and this machine's network. */
  async start(root: string, process: ContainerProcess): Promise<ManagedProcess> {
    const { args, env, mounted } = process;
    const name = `container-${this.#running.length + 1}`;
    const variables = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    const started = await startProcess({
      name,
      command: 'unshare',
      args: [
        ...NAMESPACES,
        'sh',
        '-euc',
        enter(process),
        'sh',
        root,
        mounted,
        ...variables,
        ...args,
      ],
      logFile: join(this.directory, `${name}.log`),
    });
    this.#running.push(started);
    return started;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((one) => one.kill()));
  }

  async #buildah(...args: readonly string[]): Promise<string> {
    const { stdout } = await run('buildah', [...this.storage, ...args], {
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  }
}

export interface ContainerProcess {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user: number;
  readonly readOnly: boolean;
  readonly allowsEscalation: boolean;
  /** Directory of this machine that is `/mnt` in the container, read-only. */
  readonly mounted: string;
}

/** Each program takes the place of the one before, so that there is one process to end. */
const NAMESPACES = ['--mount', '--ipc', '--uts'];

/** The last program drops every capability, as a runtime does; it is of the base. */
function enter({ user, readOnly, allowsEscalation }: ContainerProcess): string {
  const ids = `--reuid ${user} --regid ${user} --clear-groups`;
  const privileges = allowsEscalation ? '' : '--no-new-privs';
  return [
    'root=$1 mounted=$2; shift 2',
    'mount --bind "$root" "$root"',
    'mount -t proc proc "$root/proc"',
    'mount -t tmpfs -o mode=755 tmpfs "$root/dev"',
    'for device in "null 3" "urandom 9"; do mknod -m 666 "$root/dev/${device% *}" c 1 "${device#* }"; done',
    'mount --bind "$mounted" "$root/mnt"',
    'mount -o remount,bind,ro "$root/mnt"',
    readOnly ? 'mount -o remount,bind,ro "$root"' : ':',
    `exec env -i /usr/sbin/chroot "$root" /usr/bin/setpriv ${ids} ${privileges} --bounding-set=-all --inh-caps=-all /usr/bin/env "$@"`,
  ].join('\n');
}
