/** Images of the container runtime, by the program that the machine has: crictl, else ctr. */

import { access, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../core/errors';
import { parseReference } from '../../core/registries/reference';
import { basicFor } from '../registry/credentials';
import { failed, type CommandOptions, type RunCommand } from './os/command';

export interface ContainerImages {
  has(image: string, signal: AbortSignal): Promise<boolean>;
  /** @throws `PullFailed`, `OsCommandFailed` */
  pull(image: string, signal: AbortSignal): Promise<void>;
  /** Of the file system that holds them: from 0 to 1. */
  freePart(): Promise<number>;
}

interface Places {
  /** The machine's root directory. */
  readonly root: string;
  readonly run: RunCommand;
}

/** The first that exists. */
const STORES = [
  'var/lib/containers/storage',
  'var/lib/containerd',
  'var/lib/rancher',
  'var/lib',
] as const;
const OF_THE_KUBELET = 'var/lib/kubelet/config.json';
const PULL_MS = 30 * 60_000;
const CTR = ['--namespace', 'k8s.io', 'images'];

export function createContainerImages({ root, run }: Places): ContainerImages {
  let known: Program | undefined;
  const found = async (): Promise<Program> => (known ??= await findProgram(run));
  return {
    has: async (image, signal) => (await found()).has(image, { signal }),
    pull: async (image, signal) => {
      const auth = await credentialsFor(image, root);
      const runtime = await found();
      await runtime.pull(image, auth, { signal, timeoutMs: PULL_MS });
    },
    freePart: async () => {
      const { bavail, blocks } = await statfs(await storeBelow(root));
      return blocks === 0 ? 0 : bavail / blocks;
    },
  };
}

interface Program {
  has(image: string, options: CommandOptions): Promise<boolean>;
  /** @param auth - `name:password` in base64 */
  pull(image: string, auth: string | undefined, options: CommandOptions): Promise<void>;
}

async function findProgram(run: RunCommand): Promise<Program> {
  if (await starts(run, 'crictl')) return byCrictl(run);
  if (await starts(run, 'ctr')) return byCtr(run);
  throw fail(
    'OsCommandFailed',
    'pinned images cannot be pulled: the machine has neither crictl nor ctr; install one of them',
  );
}

async function starts(run: RunCommand, program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

/** CRI-O knows the credentials of the machine; containerd has to be told. */
function byCrictl(run: RunCommand): Program {
  return {
    has: async (image, options) => {
      const { status } = await run('crictl', ['inspecti', image], options);
      return status === 0;
    },
    pull: async (image, auth, options) => {
      const words = ['pull', image];
      // Not as an argument, which every user of the machine could read.
      const environment = auth === undefined ? {} : { CRICTL_AUTH: auth };
      const end = await run('crictl', words, { ...options, environment });
      if (end.status !== 0) throw notPulled(image, failed('crictl', words, end));
    },
  };
}

/** Without credentials: ctr takes them as arguments only. */
function byCtr(run: RunCommand): Program {
  return {
    has: async (image, options) => {
      const { lines } = await run('ctr', [...CTR, 'list', '--quiet', `name==${image}`], options);
      return lines.some((line) => line.trim() === image);
    },
    pull: async (image, _auth, options) => {
      const words = [...CTR, 'pull', '--hosts-dir', '/etc/containerd/certs.d', image];
      const end = await run('ctr', words, options);
      if (end.status !== 0) throw notPulled(image, failed('ctr', words, end));
    },
  };
}

function notPulled(image: string, why: Error): Error {
  return fail('PullFailed', `image ${image}: ${why.message}`);
}

/** Those of the kubelet. */
async function credentialsFor(image: string, root: string): Promise<string | undefined> {
  const file = join(root, OF_THE_KUBELET);
  const name = parseReference(image)?.name ?? '';
  return (await exists(file)) ? basicFor(name, { REGISTRY_AUTH_FILE: file }) : undefined;
}

async function storeBelow(root: string): Promise<string> {
  for (const store of STORES) {
    const path = join(root, store);
    if (await exists(path)) return path;
  }
  return root;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
