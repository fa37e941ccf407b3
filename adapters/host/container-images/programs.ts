/** The programs that ask a container runtime for images. */

import { fail } from '../../../core/errors';
import { failed, type CommandOptions, type RunCommand } from '../os/command';

export interface ImageProgram {
  has(image: string, options: CommandOptions): Promise<boolean>;
  /** @param auth - `name:password` in base64 */
  pull(image: string, auth: string | undefined, options: CommandOptions): Promise<void>;
}

/** For the images of pods. */
export const CTR_IMAGES = ['--namespace', 'k8s.io', 'images'];

/** @throws `OsCommandFailed` for a machine that has none */
export async function findProgram(run: RunCommand): Promise<ImageProgram> {
  if (await starts(run, 'crictl')) return byCrictl(run);
  if (await starts(run, 'ctr')) return byCtr(run);
  throw fail(
    'OsCommandFailed',
    'pinned images cannot be pulled: the machine has neither crictl nor ctr; install one of them',
  );
}

export async function starts(run: RunCommand, program: string): Promise<boolean> {
  return run(program, ['--version']).then(
    () => true,
    () => false,
  );
}

/** CRI-O knows the credentials of the machine; containerd has to be told. */
function byCrictl(run: RunCommand): ImageProgram {
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
function byCtr(run: RunCommand): ImageProgram {
  return {
    has: async (image, options) => {
      const { lines } = await run(
        'ctr',
        [...CTR_IMAGES, 'list', '--quiet', `name==${image}`],
        options,
      );
      return lines.some((line) => line.trim() === image);
    },
    pull: async (image, auth, options) => {
      const words = [...CTR_IMAGES, 'pull', '--hosts-dir', '/etc/containerd/certs.d', image];
      const end = await run('ctr', words, options);
      if (end.status === 0) return;
      const advice = auth === undefined ? '' : '; it pulls without credentials, so install crictl';
      throw notPulled(image, failed('ctr', words, end), advice);
    },
  };
}

function notPulled(image: string, why: Error, advice = ''): Error {
  return fail('PullFailed', `image ${image}: ${why.message}${advice}`);
}
