/** The OS images of a pool: the wanted one, and those that its nodes have staged and booted. */

import type { MachineConfig } from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import { currentConfigOf } from '../../core/node/predicates';
import type { MachineConfigNode, Node } from '../../core/node/types';
import { sameImage } from '../../core/os';
import { assignNodes } from '../../core/pool';
import { streamFor, streamNameOf } from '../../core/pool/image-stream';
import type { MachineConfigPool } from '../../core/pool/types';
import { memberOf } from '../../core/rollout/standing';
import type { ClusterView } from '../ports';
import type { CliOs } from './cluster-os';
import { imageSetterOf } from './image-setter-of';

export interface ImageCount {
  /** Empty = the machines keep theirs; `unknown` = their config is gone, or they have none. */
  readonly image: string;
  /** What wants it; absent = it is not the wanted one. */
  readonly wantedBy?: string;
  /** Of the wanted one; absent = none. */
  readonly extensionsImage?: string;
  /** Nodes that will boot it, and have not yet. */
  readonly staged: number;
  /** Nodes that verified it after their last update. */
  readonly booted: number;
}

export interface PoolImages {
  readonly pool: string;
  readonly nodes: number;
  /** The wanted one first. */
  readonly images: readonly ImageCount[];
}

const UNKNOWN = 'unknown';

export async function poolImages(os: CliOs, view: ClusterView): Promise<readonly PoolImages[]> {
  const { members } = assignNodes(view.nodes, view.pools);
  const read = new Map<string, Promise<MachineConfig | undefined>>();
  const configOf: ConfigOf = async (name) => {
    if (name === undefined) return undefined;
    const reading = read.get(name) ?? os.machineConfig(name);
    read.set(name, reading);
    return reading;
  };
  return Promise.all(
    view.pools.map((pool) => {
      const nodes = members.get(pool.metadata.name) ?? [];
      return imagesOf(pool, nodes, { view, os, configOf });
    }),
  );
}

/** Each config is read once. */
type ConfigOf = (name: string | undefined) => Promise<MachineConfig | undefined>;

interface Known {
  readonly view: ClusterView;
  readonly os: CliOs;
  readonly configOf: ConfigOf;
}

async function imagesOf(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  { view, os, configOf }: Known,
): Promise<PoolImages> {
  const name = pool.metadata.name;
  const rendered = await configOf(pool.spec.configuration?.name);
  const counts: Count[] = [];
  const wanted = rendered === undefined ? undefined : imageIn(rendered);
  if (wanted !== undefined) counts.push({ image: wanted, staged: 0, booted: 0 });
  for (const node of nodes) {
    const { booted, staged } = configsOf(node, view.machineConfigNodes.get(node.metadata.name));
    const runs = imageIn(await configOf(booted));
    countOf(counts, runs).booted += 1;
    const waits = await configOf(staged);
    if (waits !== undefined && !sameImage(imageIn(waits), runs)) {
      countOf(counts, imageIn(waits)).staged += 1;
    }
  }
  const [first, ...others] = counts;
  if (rendered === undefined || first === undefined) {
    return { pool: name, nodes: nodes.length, images: counts };
  }
  const extensions = rendered.spec.baseOSExtensionsContainerImage ?? '';
  const worker = view.pools.find(({ metadata }) => metadata.name === 'worker');
  const stream = streamFor(pool, streamNameOf(worker));
  const wantedBy = await wantedByOf(pool, rendered, { os, stream });
  const shown = { ...first, wantedBy, ...(extensions && { extensionsImage: extensions }) };
  return { pool: name, nodes: nodes.length, images: [shown, ...others] };
}

interface Count {
  readonly image: string;
  staged: number;
  booted: number;
}

function countOf(counts: Count[], image: string): Count {
  const found = counts.find((count) => sameImage(count.image, image));
  if (found !== undefined) return found;
  const count = { image, staged: 0, booted: 0 };
  counts.push(count);
  return count;
}

function configsOf(
  node: Node,
  machineConfigNode: MachineConfigNode | undefined,
): { readonly booted: string | undefined; readonly staged: string | undefined } {
  const { prepared } = memberOf(node, machineConfigNode === undefined ? {} : { machineConfigNode });
  const staged = prepared?.isEarlier === false ? prepared.config : undefined;
  return { booted: currentConfigOf(node), staged };
}

function imageIn(config: MachineConfig | undefined): string {
  return config === undefined ? UNKNOWN : (config.spec.osImageURL ?? '');
}

async function wantedByOf(
  pool: MachineConfigPool,
  { metadata, spec }: MachineConfig,
  { os, stream }: { readonly os: CliOs; readonly stream: string },
): Promise<string> {
  if ((spec.osImageURL ?? '') === '') return 'nothing';
  if (metadata.annotations?.[ANNOTATION.OS_IMAGE_URL_OVERRIDDEN] !== 'true') {
    return stream === '' ? 'ControllerConfig' : `stream ${stream}`;
  }
  const setter = await imageSetterOf(os, pool);
  return setter === undefined ? 'a MachineConfig' : `MachineConfig ${setter.machineConfig}`;
}
