/** Renders one pool, in the cluster or offline, so that both give the same name. */

import type { CacheView } from '../../adapters/kube/cache';
import type { KubeObject } from '../../adapters/kube/resources';
import {
  isReadable,
  refuseIneffectiveChange,
  renderForHosts,
  type MachineConfig,
  type RenderedMachineConfig,
} from '../../core/machine-config';
import { chosenStream, OS_IMAGE_STREAM } from '../../core/pool/image-stream';
import type { MachineConfigPool } from '../../core/pool/types';
import { refuseUnlessAdmitted } from './admission';
import { clusterFacts, configSelector, selectSources } from './pool-sources';
import { renderPorts } from './render-ports';

export interface RenderView {
  readonly machineConfigs: Pick<CacheView<MachineConfig>, 'get' | 'list'>;
  readonly controllerConfigs: Pick<CacheView<KubeObject>, 'get'>;
  readonly osImageStreams: Pick<CacheView<KubeObject>, 'get'>;
  /** Name of the image stream of the pool worker, which custom pools inherit; empty = none. */
  readonly workerStream: string;
}

export interface PoolRender {
  readonly rendered: RenderedMachineConfig;
  /** Sorted by name. */
  readonly sources: readonly MachineConfig[];
}

/**
 * The current config, if it is valid, decides what may change.
 *
 * @param version - of the controllers, written on the rendered config
 * @returns undefined when the pool selects everything, which nobody can mean
 * @throws `InvalidPool`, `NoMachineConfigs`, `InvalidMachineConfig`, `InvalidIgnition`,
 *   `Unreconcilable`, `ConfigTooLarge`
 */
export function renderPool(
  view: RenderView,
  pool: MachineConfigPool,
  version: string,
): PoolRender | undefined {
  const selector = configSelector(pool);
  if (selector.empty) return undefined;
  const sources = selectSources(view, selector);
  const current = comparable(view.machineConfigs.get(pool.spec.configuration?.name ?? ''));
  refuseUnlessAdmitted(sources);
  const stream = chosenStream(pool, view.workerStream, view.osImageStreams.get(OS_IMAGE_STREAM));
  const rendered = renderForHosts({
    pool: pool.metadata.name,
    sources,
    controllerConfig: clusterFacts(view, version),
    ...(stream === undefined ? {} : { osImageStream: stream }),
    ...(current === undefined ? {} : { current }),
    ports: renderPorts,
  });
  if (current !== undefined) {
    const next = { metadata: { name: rendered.name }, spec: rendered.spec };
    refuseIneffectiveChange(current, next, renderPorts);
  }
  return { rendered, sources };
}

/** An invalid config must not block a fixed one. */
function comparable(current: MachineConfig | undefined): MachineConfig | undefined {
  return current !== undefined && isReadable(current, renderPorts) ? current : undefined;
}
