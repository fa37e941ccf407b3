/**
 * An extensions image as a repository for rpm-ostree. podman copies the packages out of it; the
 * copy exists only while it is used.
 *
 * @see MCO pkg/daemon/update.go, ExtractExtensionsImage, addExtensionsRepo (7ff337a4)
 */

import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fail, failureName, messageOf } from '../../../core/errors';
import type { StepContext } from './os-status';
import type { RunProgram } from './program';
import { registryCredentials } from './registry-credentials';

const REPOSITORY_FILE = 'etc/yum.repos.d/slipway-extensions.repo';
const CONTENT = 'run/slipway/extensions';
const PACKAGES_IN_IMAGE = '/usr/share/rpm-ostree/extensions';
const CONTAINER = 'slipway-extensions';

interface ExtensionsSource {
  /**
   * Packages of this image can be installed while `act` runs; without an image, those of the host's
   * repositories.
   */
  during<T>(image: string | undefined, context: StepContext, act: () => Promise<T>): Promise<T>;
  /** Removes what an interrupted process has left. */
  remove(): Promise<void>;
}

export function createExtensionsSource({
  root,
  run,
}: {
  readonly root: string;
  readonly run: RunProgram;
}): ExtensionsSource {
  const content = join(root, CONTENT);
  const repository = join(root, REPOSITORY_FILE);

  async function remove(): Promise<void> {
    await rm(repository, { force: true });
    await rm(content, { recursive: true, force: true });
  }

  async function copyOut(image: string, { signal }: StepContext): Promise<void> {
    const file = await registryCredentials(root);
    const credentials = file === undefined ? [] : ['--authfile', file];
    await pull(() => run('podman', ['pull', '--quiet', ...credentials, image], { signal }));
    // Left by a killed process.
    await run('podman', ['rm', '--force', '--ignore', CONTAINER]);
    // `true` is never run.
    await run('podman', ['create', '--net=none', '--name', CONTAINER, image, 'true'], { signal });
    try {
      await mkdir(content, { recursive: true, mode: 0o755 });
      await run('podman', ['cp', `${CONTAINER}:${PACKAGES_IN_IMAGE}/.`, content], { signal });
    } finally {
      await run('podman', ['rm', '--force', '--ignore', CONTAINER]);
    }
  }

  return {
    async during(image, context, act) {
      if (image === undefined) return act();
      await remove();
      let made: string | undefined;
      try {
        context.progress(`copying the packages of ${image}`);
        await copyOut(image, context);
        made = await mkdir(dirname(repository), { recursive: true, mode: 0o755 });
        await writeFile(repository, repositoryOf(content), { mode: 0o644 });
        return await act();
      } finally {
        await remove();
        if (made !== undefined) await removeEmpty(dirname(repository));
      }
    },
    remove,
  };
}

/** Keeps a directory with entries of others. */
async function removeEmpty(directory: string): Promise<void> {
  await rmdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'ENOENT') throw error;
  });
}

/** The digest of the image verifies its packages. */
function repositoryOf(directory: string): string {
  return [
    '[slipway-extensions]',
    'name=Extensions of the operating system',
    `baseurl=file://${directory}`,
    'enabled=1',
    'gpgcheck=0',
    'metadata_expire=1m',
    '',
  ].join('\n');
}

async function pull(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (failureName(error) !== 'OsCommandFailed') throw error;
    throw Object.assign(fail('PullFailed', messageOf(error)), { cause: error });
  }
}
