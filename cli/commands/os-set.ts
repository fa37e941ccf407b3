/** `slipway os set IMAGE|--release IMAGE`. */

import type { RegistryClient } from '../../adapters/registry';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import { imageSetter, type MachineConfig } from '../../core/machine-config';
import { LABEL } from '../../core/names';
import { streamNameOf } from '../../core/pool/image-stream';
import type { MachineConfigPool } from '../../core/pool/types';
import { compileSelector } from '../../core/selectors';
import { cliError, EXIT, type ExitCode } from '../exit-codes';
import type { CliOs, OsImages } from '../os/cluster-os';
import { imageSetterOf, sourcesOf } from '../os/image-setter-of';
import { imageNamed } from '../os/pinned-image';
import { setStreams, streamsKept } from '../os/streams';
import { imagesNamed, imagesOfRelease, type WantedImages } from '../os/wanted-images';
import type { CliContext, ClusterView } from '../ports';
import { findPool } from './rollout';

export interface OsSetOptions {
  /** Not with `image` and `extensions`. */
  readonly release?: string;
  readonly extensions?: string;
  readonly pool?: string;
  readonly registry: RegistryClient;
}

export async function osSet(
  context: CliContext,
  image: string | undefined,
  options: OsSetOptions,
): Promise<ExitCode> {
  refuseUnclear(image, options);
  const cluster = await context.cluster();
  const view = await cluster.read();
  const pool = options.pool === undefined ? undefined : findPool(view, options.pool);
  const labels = pool === undefined ? undefined : labelsFor(pool, view);
  const { registry, release, extensions } = options;
  const wanted =
    release === undefined
      ? await imagesNamed(registry, image ?? '', extensions)
      : await imagesOfRelease(registry, release);
  const told =
    pool === undefined || labels === undefined
      ? await setForCluster(cluster.os, view, { wanted, registry })
      : await setForPool(cluster.os, view, { pool, labels, wanted });
  context.terminal.err.write(`${told.join('\n')}\nwatch it: slipway os status\n`);
  return EXIT.OK;
}

/** Before the cluster is asked. */
function refuseUnclear(image: string | undefined, { release, extensions }: OsSetOptions): void {
  if ((image === undefined) === (release === undefined)) {
    throw cliError(EXIT.USAGE, 'give either IMAGE or --release IMAGE');
  }
  if (release !== undefined && extensions !== undefined) {
    throw cliError(EXIT.USAGE, '--release brings its own extensions image: leave --extensions out');
  }
  if (image !== undefined) imageNamed(image, 'IMAGE');
  if (release !== undefined) imageNamed(release, '--release');
  if (extensions !== undefined) imageNamed(extensions, '--extensions');
}

async function setForCluster(
  os: CliOs,
  { pools }: ClusterView,
  { wanted, registry }: { readonly wanted: WantedImages; readonly registry: RegistryClient },
): Promise<readonly string[]> {
  const before = await os.ofCluster();
  const releaseBefore = await os.releaseSet();
  const { osImage, extensionsImage, release } = wanted;
  const setters = await Promise.all(
    pools.map(async (pool) => ({ pool, setter: await imageSetterOf(os, pool) })),
  );
  // The first to write: everything else is read by now.
  const told =
    release === undefined ? streamsKept(pools) : await setStreams(os, pools, wanted, registry);
  await os.setForCluster({
    ...{ osImage, extensionsImage },
    ...(release && { releaseImage: release.releaseImage, version: release.version }),
  });
  const kept = setters.flatMap(({ pool, setter }) =>
    setter === undefined || setter.image === osImage
      ? []
      : [
          `pool ${pool.metadata.name} keeps ${setter.image} of MachineConfig ${setter.machineConfig}`,
        ],
  );
  const old = before?.osImage ?? '';
  return [
    `ControllerConfig ${CONTROLLER_CONFIG}: ${imagesText(wanted)}`,
    ...told,
    ...kept,
    ...(old === '' || old === osImage
      ? []
      : [`the way back: slipway os set ${imagesAsWords(before, releaseBefore)}`]),
  ];
}

function imagesAsWords(os: OsImages | undefined, release: string | undefined): string {
  if (release !== undefined) return `--release ${release}`;
  const { osImage = '', extensionsImage = '' } = os ?? {};
  return extensionsImage === '' ? osImage : `${osImage} --extensions ${extensionsImage}`;
}

interface ForPool {
  readonly pool: MachineConfigPool;
  readonly labels: Readonly<Record<string, string>>;
  readonly wanted: WantedImages;
}

async function setForPool(
  os: CliOs,
  { pools }: ClusterView,
  { pool, labels, wanted }: ForPool,
): Promise<readonly string[]> {
  const name = `99-${pool.metadata.name}-os`;
  const { osImage, extensionsImage } = wanted;
  const ours: MachineConfig = { metadata: { name, labels }, spec: { osImageURL: osImage } };
  const others = (await sourcesOf(os, pool)).filter(({ metadata }) => metadata.name !== name);
  const winner = imageSetter([...others, ours], 'osImageURL');
  if (winner !== undefined && winner.machineConfig !== name) {
    throw cliError(
      EXIT.FAILED,
      `MachineConfig ${winner.machineConfig}: spec.osImageURL comes after ${name} and would win; remove the field first`,
    );
  }
  await os.setForPool(name, labels, { osImage, extensionsImage });
  const also = pools.filter((one) => one !== pool && selects(one, labels));
  const keepsExtensions =
    extensionsImage === '' ? ['its packages of extensions stay those of the ControllerConfig'] : [];
  return [
    `MachineConfig ${name}: ${imagesText(wanted)}`,
    ...keepsExtensions,
    ...also.map((one) => `pool ${one.metadata.name} selects it, too`),
    `back to the image of the cluster: kubectl delete machineconfig ${name}`,
  ];
}

/** @throws CliError when nobody can tell what the pool would select, or a pool would have stream and image */
function labelsFor(
  pool: MachineConfigPool,
  { pools }: ClusterView,
): Readonly<Record<string, string>> {
  const { name } = pool.metadata;
  const { matchLabels = {} } = pool.spec.machineConfigSelector ?? {};
  // Not a label of another role: the image would reach other pools, too.
  const labels = { ...matchLabels, [LABEL.ROLE]: name };
  refuseStream(pool, 'and');
  if (!selects(pool, labels)) {
    throw cliError(
      EXIT.FAILED,
      `machineconfigpool ${name}: spec.machineConfigSelector does not select the role ${name}; ` +
        'apply a MachineConfig with spec.osImageURL and labels that it selects',
    );
  }
  for (const one of pools) {
    if (selects(one, labels))
      refuseStream(one, `and it selects the MachineConfigs of ${name}, too:`);
  }
  return labels;
}

function refuseStream(pool: MachineConfigPool, why: string): void {
  const stream = streamNameOf(pool);
  if (stream === '') return;
  throw cliError(
    EXIT.FAILED,
    `machineconfigpool ${pool.metadata.name}: spec.osImageStream.name is ${stream}, ${why} ` +
      'a pool has either a stream or an image of its own; remove the field first',
  );
}

function selects({ spec }: MachineConfigPool, labels: Readonly<Record<string, string>>): boolean {
  try {
    const selector = compileSelector(spec.machineConfigSelector);
    return !selector.empty && selector.matches(labels);
  } catch {
    // Its render reports the selector.
    return false;
  }
}

function imagesText({ osImage, extensionsImage, release }: WantedImages): string {
  const extensions =
    extensionsImage === '' ? 'no extensions image' : `extensions image ${extensionsImage}`;
  const from =
    release === undefined
      ? ''
      : ` (release ${release.version || 'without a name'}, ${release.releaseImage})`;
  return `OS image ${osImage}, ${extensions}${from}`;
}
