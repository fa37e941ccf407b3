/** Images of the product, built from its Containerfiles, in the container runtime of machines without a registry. */

import { readdirSync } from 'node:fs';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';
import { Containers } from '../../e2e/support/container';
import type { Machine } from '../machine/machine';
import { varOf } from '../machine/sysroot';

export const BASE = 'localhost/base';
const PROGRAMS = [
  ...[
    'basename',
    'cat',
    'chmod',
    'cmp',
    'cp',
    'dirname',
    'env',
    'ln',
    'ls',
    'mkdir',
    'mv',
    'readlink',
  ],
  ...['rm', 'sed', 'sha256sum', 'sleep'],
].map((name) => `/usr/bin/${name}`);

/** With the image that the Containerfiles build on. @param directory - as of `createContainerImages` */
export async function withBase(directory: string): Promise<Containers> {
  const containers = new Containers(directory);
  const releases = join(repositoryRoot(), 'dist/host-bundle/releases');
  const native = readdirSync(releases).map((target) => join(releases, target, 'index.node'));
  await containers.base(BASE, { native, programs: [...PROGRAMS, '/usr/sbin/chroot'] });
  return containers;
}

export interface ContainerImages {
  /** @param containerfile - below the repository */
  build(name: string, containerfile: string, context: string): Promise<void>;
  give(machine: Machine, ...names: readonly string[]): Promise<void>;
}

/** @param directory - for the storage of buildah, owned by the caller */
export async function createContainerImages(directory: string): Promise<ContainerImages> {
  const containers = await withBase(directory);
  const archiveOf = (name: string) => join(directory, `${name.replaceAll(/[/:]/g, '-')}.tar`);
  return {
    build: async (name, containerfile, context) => {
      await containers.build(join(repositoryRoot(), containerfile), context, name, BASE);
      await rm(archiveOf(name), { force: true });
      await containers.archive(name, archiveOf(name));
    },
    give: async (machine, ...names) => {
      for (const name of names) await load(machine, archiveOf(name));
    },
  };
}

async function load(machine: Machine, archive: string): Promise<void> {
  const file = join(varOf(machine.sysroot), 'tmp', 'image.tar');
  await copyFile(archive, file);
  await machine.output('ctr', '-n', 'k8s.io', 'images', 'import', '/var/tmp/image.tar');
  await rm(file);
}
