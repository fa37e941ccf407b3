import type { ManifestObject } from '../../adapters/manifests';
import type { KubeObject } from '../../adapters/kube/resources';
import type { MachineConfig } from '../../core/machine-config';
import { streamNameOf } from '../../core/pool/image-stream';
import type { PinnedImageSet } from '../../core/pinned-images';
import type { MachineConfigPool, RolloutPolicy } from '../../core/pool/types';
import type { CompiledSelector, Labels } from '../../core/selectors';
import type { TemplateFolder } from '../../core/templates';
import type { RenderView } from '../render/render-pool';
import type { Rest } from './rest';
import type { Findings } from './findings';
import { generatedOffline } from './generated';
import type { OfflineObjects } from './generated-input';
import { OFFLINE_KINDS } from './kinds';
import { kindOf, readObject } from './read-object';

interface OfflineSituation {
  readonly earlier: EarlierConfigs;
  /** Of the controllers in the cluster. */
  readonly version: string;
  readonly rest: Rest;
  readonly templates: TemplateFolder;
}

/** By the name of the pool. */
export type EarlierConfigs = ReadonlyMap<string, MachineConfig>;

export class OfflineView implements RenderView {
  /** Sorted by name. */
  readonly pools: readonly MachineConfigPool[];
  readonly pinnedImageSets: readonly PinnedImageSet[];
  readonly policies: readonly RolloutPolicy[];
  readonly machineConfigs: RenderView['machineConfigs'];
  readonly controllerConfigs: RenderView['controllerConfigs'];
  readonly osImageStreams: RenderView['osImageStreams'];
  readonly workerStream: string;
  /** Kinds, with their number of objects. */
  readonly leftOut: ReadonlyMap<string, number>;
  readonly #written = new Map<string, ManifestObject>();
  readonly #refused: ManifestObject[] = [];

  constructor(
    objects: readonly ManifestObject[],
    { earlier, version, rest, templates }: OfflineSituation,
    findings: Findings,
  ) {
    const leftOut = new Map<string, number>();
    const read = new Map<string, KubeObject[]>(OFFLINE_KINDS.map(({ kind }) => [kind, []]));
    for (const object of objects) {
      const kind = kindOf(object);
      if (kind === undefined) {
        leftOut.set(object.kind, (leftOut.get(object.kind) ?? 0) + 1);
      } else {
        const isFirst = this.#isFirst(object, findings);
        const stored = readObject(object, kind, findings);
        if (stored === undefined) this.#refused.push(object);
        else if (isFirst) read.get(object.kind)?.push(stored);
      }
    }
    const of = (kind: string): readonly KubeObject[] => (read.get(kind) ?? []).sort(byName);
    this.leftOut = leftOut;
    this.pools = (of('MachineConfigPool') as readonly MachineConfigPool[]).map((pool) =>
      onEarlier(pool, earlier.get(pool.metadata.name)),
    );
    this.policies = of('RolloutPolicy');
    this.pinnedImageSets = of('PinnedImageSet');
    const configs = this.#withGenerated(of, { version, rest, templates }, findings);
    const known = byKey([...earlier.values(), ...configs]);
    this.machineConfigs = { get: (name) => known.get(name), list: () => configs };
    const controllerConfigs = byKey(of('ControllerConfig'));
    this.controllerConfigs = { get: (name) => controllerConfigs.get(name) };
    const osImageStreams = byKey(of('OSImageStream'));
    this.osImageStreams = { get: (name) => osImageStreams.get(name) };
    this.workerStream = streamNameOf(this.pools.find(({ metadata }) => metadata.name === 'worker'));
  }

  written(kind: string, name: string): ManifestObject | undefined {
    return this.#written.get(`${kind}/${name}`);
  }

  /** A MachineConfig that the selector matches could not be read. */
  isIncomplete(selector: CompiledSelector): boolean {
    return this.#refused.some(
      ({ kind, value }) => kind === 'MachineConfig' && selector.matches(labelsOf(value)),
    );
  }

  /** One of this kind could not be read. */
  lacks(kind: string): boolean {
    return this.#refused.some((object) => object.kind === kind);
  }

  /** What the controllers generate stands for a manifest of the same name. */
  #withGenerated(
    of: OfflineObjects['of'],
    situation: Omit<OfflineSituation, 'earlier'>,
    findings: Findings,
  ): readonly MachineConfig[] {
    const written = of('MachineConfig') as readonly MachineConfig[];
    const objects = { of, written: this.written.bind(this) };
    const input = { objects, pools: this.pools, configs: written, ...situation };
    const all = new Map(written.map((config) => [config.metadata.name, config]));
    for (const { config, source } of generatedOffline(input, findings)) {
      const { name } = config.metadata;
      all.set(name, config);
      if (source !== undefined) this.#written.set(`MachineConfig/${name}`, source);
    }
    return [...all.values()].sort(byName);
  }

  #isFirst(object: ManifestObject, findings: Findings): boolean {
    const key = `${object.kind}/${placeOf(object)}`;
    const first = this.#written.get(key);
    if (first === undefined || object.name === '') {
      this.#written.set(key, object);
      return true;
    }
    const { line } = first.placeOf(['metadata', 'name']);
    const fix = 'keep one, or give one of them another name';
    findings.error(
      object,
      ['metadata', 'name'],
      `there is another ${object.kind} of this name at ${first.file}:${line}`,
      fix,
    );
    return false;
  }
}

/** Two namespaces may have one name. */
function placeOf({ name, value }: ManifestObject): string {
  const { namespace } = (value['metadata'] ?? {}) as { readonly namespace?: unknown };
  return typeof namespace === 'string' ? `${namespace}/${name}` : name;
}

function onEarlier(pool: MachineConfigPool, earlier: MachineConfig | undefined): MachineConfigPool {
  if (earlier === undefined) return pool;
  const configuration = { name: earlier.metadata.name };
  return { ...pool, spec: { ...pool.spec, configuration } };
}

function byKey<T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [object.metadata.name, object]));
}

function byName(a: KubeObject, b: KubeObject): number {
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function labelsOf(value: Readonly<Record<string, unknown>>): Labels {
  const metadata = value['metadata'] as { readonly labels?: Labels | null } | null | undefined;
  return metadata?.labels ?? {};
}
