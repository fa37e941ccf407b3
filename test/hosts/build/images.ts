/** As an OCI layout on disk. */

import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { ensureBinary } from '../../../tools/binaries';
import { repositoryRoot } from '../../../tools/repository-root';
import { execute } from '../execute';
import { cached } from './cache';
import { debianRoot, stockPackages } from './debian';
import { digestOf } from './inputs';
import { layersOf } from './layers';
import { addLayer } from './oci-layout';
import { makeProduct, productDigest } from './product';
import { ensureRustProgram } from '../../../tools/binaries/rust-programs';
import { IMAGE_FOLDER, makeTree } from './tree';

/** Each later one is another tag plus one layer. */
export const OS_VERSIONS = ['v1', 'v2', 'no-kubelet', 'no-worker', 'bare', 'stock'] as const;
export type OsVersion = (typeof OS_VERSIONS)[number];

const FROM: Readonly<Record<OsVersion, string>> = {
  v1: 'product',
  v2: 'product',
  'no-kubelet': 'product',
  'no-worker': 'product',
  // Nobody has put a host worker into it.
  bare: 'base',
  // As a distribution publishes it, with curl and cloud-init.
  stock: 'base',
};

/** Raise it when the code changes the tree. */
const RECIPE = '2';

/** Every version, cached by its inputs. */
export async function osImages(): Promise<string> {
  const base = await baseImage();
  const image = join(repositoryRoot(), IMAGE_FOLDER);
  const stock = join(await stockPackages(), 'files');
  const digest = await digestOf(
    [base, stock, await productDigest()],
    OS_VERSIONS.map((version) => join(image, version)),
  );
  const folder = await cached('images', digest, 'making the OS images', async (directory) => {
    const layout = join(directory, 'oci');
    await cp(join(base, 'oci'), layout, { recursive: true });
    const product = join(directory, 'product');
    await makeProduct(product);
    await addLayer(layout, { from: 'base', tag: 'product', comment: 'the host worker' }, product);
    await rm(product, { recursive: true });
    for (const version of OS_VERSIONS) {
      await addLayer(
        layout,
        { from: FROM[version], tag: version, comment: `version ${version}` },
        join(image, version),
      );
    }
    await addLayer(layout, { from: 'stock', tag: 'stock', comment: 'cloud-init' }, stock);
  });
  return join(folder, 'oci');
}

/** Without the product and the differences between versions. */
async function baseImage(): Promise<string> {
  const debian = await debianRoot();
  const common = join(repositoryRoot(), IMAGE_FOLDER, 'common');
  const kubelet = await ensureBinary('kubelet');
  const ostree = await ensureRustProgram('slipway-ostree');
  const digest = await digestOf([debian, RECIPE], [common, kubelet, ostree, process.execPath]);
  return cached('base', digest, 'making the OS tree and its image', async (directory) => {
    const tree = join(directory, 'tree');
    await mkdir(directory, { recursive: true });
    await makeTree(debian, { kubelet, ostree, node: process.execPath }, tree);
    const repository = join(directory, 'repository');
    await execute('ostree', [`--repo=${repository}`, 'init', '--mode=bare']);
    await execute('ostree', [
      ...[`--repo=${repository}`, 'commit', '--branch=os', `--tree=dir=${tree}`],
      ...['--bootable', '--add-metadata-string=version=base', '--subject=base'],
    ]);
    const meta = join(directory, 'layers.json');
    await writeFile(meta, JSON.stringify(await layersOf(repository, 'os', debian)));
    await execute(await ensureRustProgram('ostree-ext-cli'), [
      ...['container', 'encapsulate', `--repo=${repository}`, `--contentmeta=${meta}`],
      ...['os', `oci:${join(directory, 'oci')}:base`],
    ]);
    await rm(tree, { recursive: true });
    await rm(repository, { recursive: true });
  });
}
