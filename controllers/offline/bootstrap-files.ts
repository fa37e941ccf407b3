/**
 * Files for a server without a cluster, in MCO's layout.
 *
 * @see MCO pkg/controller/bootstrap/bootstrap.go (7ff337a4), Run
 */

import type { KubeObject } from '../../adapters/kube/resources';
import { MCO_GROUP, MCO_VERSION } from '../../core/names';
import { toYaml, type YamlValue } from '../../core/yaml/write-yaml';
import { configurationOf, renderedObject } from '../render/rendered-object';
import type { OfflinePool, OfflineRender } from './render-manifests';

const API_VERSION = `${MCO_GROUP}/${MCO_VERSION}`;

/** In the order of creation: a pool names a rendered config. */
export const BOOTSTRAP_FOLDERS = ['controller-config', 'machine-configs', 'machine-pools'] as const;

/** Folders that this render does not write. */
export const BESIDE_BOOTSTRAP = ['join-tokens'] as const;

/**
 * By their path below the destination.
 *
 * @throws `ConfigTooLarge` as the controllers do
 */
export function bootstrapFiles(
  render: Pick<OfflineRender, 'pools' | 'controllerConfig'>,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const { controllerConfig } = render;
  if (controllerConfig !== undefined) {
    files.set('controller-config/machine-config-controller.yaml', yamlOf(controllerConfig));
  }
  for (const one of render.pools) {
    const config = renderedObject(one.rendered, one.pool);
    files.set(`machine-configs/${config.metadata.name}.yaml`, yamlOf(config));
    files.set(`machine-pools/${one.pool.metadata.name}.yaml`, yamlOf(poolOf(one)));
  }
  return files;
}

/** All its machines are on the config: nothing else could be served. */
function poolOf({ pool, rendered, sources }: OfflinePool): object {
  const configuration = configurationOf(rendered, sources);
  const { name, labels } = pool.metadata;
  return {
    apiVersion: API_VERSION,
    kind: 'MachineConfigPool',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: { ...pool.spec, configuration },
    status: { configuration },
  };
}

/**
 * YAML readers treat these differently (line end, folded, refused), and a machine needs the bytes
 * that the cluster renders.
 */
const DISPUTED = /[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g;

/** JSON is YAML, too, for text that YAML cannot hold for every reader. */
function yamlOf(object: KubeObject | object): string {
  const json = `${JSON.stringify(object, null, 2)}\n`;
  const escaped = json.replace(DISPUTED, escapedInJson);
  if (escaped !== json) return escaped;
  try {
    return toYaml(object as unknown as YamlValue);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return json;
  }
}

function escapedInJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
