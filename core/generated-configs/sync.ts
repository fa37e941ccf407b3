/**
 * One look at an object that MachineConfigs are generated from: what to write so that each pool that
 * it selects has its MachineConfig, and what to say on the object.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_controller.go (7ff337a4), syncKubeletConfig
 * @see MCO pkg/controller/container-runtime-config/container_runtime_config_controller.go
 *   (7ff337a4), syncContainerRuntimeConfig
 */

import type { MachineConfig, MachineConfigSpec } from '../machine-config/types';
import { ANNOTATION } from '../names';
import { isSameHistory, newest, recordOutcome } from './conditions';
import { isOwnFinalizer } from './finalizers';
import { generatedMachineConfig, originOwner } from './machine-config';
import { baseName, generatedName, selectedPools, suffixOf } from './names';
import { storedConfig, type ConfigWrite } from './stored-config';
import { strays } from './strays';
import { withoutTakenNumber } from './number-taken';
import type { KnownConfig, Origin, OriginCondition, OriginKind, SelectedPool } from './types';

/** In the order in which they are to be written. */
export type Write =
  | ConfigWrite
  | {
      readonly do: 'mark';
      readonly annotations: Annotations;
      readonly finalizers: readonly string[];
    }
  | {
      readonly do: 'status';
      readonly conditions: readonly OriginCondition[];
      readonly observedGeneration: number;
    };

type Annotations = Readonly<Record<string, string>>;

export interface SyncPlan {
  readonly writes: readonly Write[];
  /** Why the pools keep what they have. Nothing but the status is written then. */
  readonly problem?: string;
}

/** The content for one pool, or why there is none. */
export type Generated =
  | {
      readonly spec: MachineConfigSpec;
      /** What is left out and why. MCO says so, and in the same breath that all is well. */
      readonly leavesOut?: string;
    }
  | { readonly problem: string; readonly says?: string };

export interface SyncInput<P extends SelectedPool> {
  readonly kind: OriginKind;
  /** Not being deleted: that is `planRemoval`. */
  readonly origin: Origin;
  /** All of the kind. */
  readonly origins: readonly Origin[];
  readonly pools: readonly P[];
  readonly configs: readonly KnownConfig[];
  /** Of the controllers, on what they generate. */
  readonly version: string;
  /** RFC 3339. */
  readonly now: string;
  /** Why the object is refused, whatever the pools. */
  readonly refusal?: string | undefined;
  readonly generate: (pool: P) => Generated;
  /**
   * MCO loses the other annotations and finalizers of the object, leaves the label of a changed
   * MachineConfig as it is, removes what another version generated before it is generated anew, and
   * keeps the MachineConfig of a pool that is not selected any more. `as-observed` does, too.
   */
  readonly defects: 'corrected' | 'as-observed';
}

interface Named<P> {
  readonly pool: P;
  readonly name: string;
  readonly legacy?: string;
}

export function planSync<P extends SelectedPool>(input: SyncInput<P>): SyncPlan {
  if (input.refusal !== undefined) return refused(input, input.refusal);
  const { kind, origin, configs } = input;
  const pools = selectedPools(origin, input.pools);
  if ('problem' in pools) return refused(input, pools.problem);
  if (pools.found.length === 0) return refused(input, kind.noPool(origin.metadata.name));
  const known = new Map(configs.map((config) => [config.metadata.name, config]));
  const named = nameAll(input, pools.found, (name) => known.has(name));
  if ('problem' in named) {
    return refused(input, named.problem, `${kind.nameProblem}: ${named.problem}`);
  }
  const wanted: { readonly config: MachineConfig; readonly legacy?: string }[] = [];
  const passing: string[] = [];
  for (const { pool, name, legacy } of named) {
    const content = input.generate(pool);
    if ('problem' in content) return refused(input, content.problem, content.says);
    if (content.leavesOut !== undefined) passing.push(content.leavesOut);
    const config = configOf(input, pool, { name, spec: content.spec });
    wanted.push({ config, ...(legacy === undefined ? {} : { legacy }) });
  }
  const names = wanted.map(({ config }) => config.metadata.name);
  return {
    writes: [
      ...marked(input, names),
      ...wanted.flatMap(({ config, legacy }) => [
        ...stored(input, known.get(config.metadata.name), config),
        ...(legacy === undefined ? [] : [{ do: 'remove', name: legacy } as const]),
      ]),
      ...strays(input, names).map((name) => ({ do: 'remove', name }) as const),
      ...said(input, [...passing, undefined]),
    ],
  };
}

/**
 * Of an object that is being deleted: the MachineConfig of its first finalizer goes, then the
 * finalizer. The next look takes the next one.
 */
export function planRemoval(
  kind: OriginKind,
  { metadata }: Pick<Origin, 'metadata'>,
  configs: readonly KnownConfig[],
): readonly Write[] {
  const { annotations = {}, finalizers = [] } = metadata;
  const first = finalizers.find((name) => isOwnFinalizer(kind, name, configs));
  if (first === undefined) return [];
  const config = configs.find(({ metadata: { name, uid } }) => name === first || uid === first);
  const owner = config?.metadata.ownerReferences?.find((one) => one.kind === kind.kind);
  // A copy of another object has its finalizers, too.
  const isOthers = owner !== undefined && owner.uid !== (metadata.uid ?? '');
  return [
    ...(config === undefined || isOthers
      ? []
      : [{ do: 'remove', name: config.metadata.name } as const]),
    { do: 'mark', annotations, finalizers: finalizers.filter((name) => name !== first) },
  ];
}

/** Of an object whose writes the API server refuses; the next look that succeeds clears it. */
export function planRefusal(
  kind: OriginKind,
  origin: Origin,
  { says, now }: { readonly says: string; readonly now: string },
): readonly Write[] {
  return said({ kind, origin, now, defects: 'corrected' }, [says]);
}

/** Each pool counts the same number, so that no two objects share the MachineConfig of a pool. */
function nameAll<P extends SelectedPool>(
  { kind, defects, ...input }: SyncInput<P>,
  pools: readonly P[],
  exists: (name: string) => boolean,
): readonly Named<P>[] | { readonly problem: string } {
  const origin =
    defects === 'corrected' ? withoutTakenNumber(input.origin, input.origins, pools) : input.origin;
  const origins = input.origins.map((one) =>
    one.metadata.name === origin.metadata.name ? origin : one,
  );
  const named: Named<P>[] = [];
  for (const pool of pools) {
    const verdict = generatedName(kind, { pool, origin, origins, exists });
    if ('problem' in verdict) return verdict;
    named.push({ pool, ...verdict });
  }
  const highest = named.reduce(
    (most, { name }) => Math.max(most, Number(suffixOf(name) || '0')),
    0,
  );
  if (highest === 0) return named;
  return named.map(({ pool }) => ({
    pool,
    name: `${baseName(kind.word, pool.metadata.name)}-${highest}`,
  }));
}

function configOf<P extends SelectedPool>(
  { kind, origin, version }: SyncInput<P>,
  pool: P,
  { name, spec }: { readonly name: string; readonly spec: MachineConfigSpec },
): MachineConfig {
  return generatedMachineConfig({
    ...{ name, pool: pool.metadata.name, spec, controllerVersion: version },
    owner: originOwner(kind, origin.metadata),
  });
}

function stored<P extends SelectedPool>(
  { defects }: SyncInput<P>,
  before: KnownConfig | undefined,
  config: MachineConfig,
): readonly ConfigWrite[] {
  const labels = defects === 'corrected' ? config.metadata.labels : before?.metadata.labels;
  if (before === undefined || labels === undefined) return storedConfig(before, config);
  return storedConfig(before, { ...config, metadata: { ...config.metadata, labels } });
}

/** Before the MachineConfigs, so that none outlives its object. */
function marked<P extends SelectedPool>(
  input: SyncInput<P>,
  names: readonly string[],
): readonly Write[] {
  const { annotations = {}, finalizers = [] } = input.origin.metadata;
  const number = annotations[ANNOTATION.NAME_SUFFIX];
  const kept = keptFinalizers(input, names);
  const wanted = [...kept, ...names.filter((name) => !kept.includes(name))];
  const suffix = suffixOf(names[0] ?? '');
  const isNumbered = input.defects === 'corrected' ? number === suffix : number !== undefined;
  if (isNumbered && wanted.join(' ') === finalizers.join(' ')) return [];
  const before = input.defects === 'corrected' ? annotations : {};
  return [
    {
      do: 'mark',
      annotations: isNumbered ? annotations : { ...before, [ANNOTATION.NAME_SUFFIX]: suffix },
      finalizers: wanted,
    },
  ];
}

function keptFinalizers<P extends SelectedPool>(
  { origin, kind, configs, defects }: SyncInput<P>,
  names: readonly string[],
): readonly string[] {
  const { finalizers = [] } = origin.metadata;
  if (defects === 'corrected') {
    return finalizers.filter(
      (name) => names.includes(name) || !isOwnFinalizer(kind, name, configs),
    );
  }
  const isOld = kind.word === 'kubelet' && finalizers.some((name) => !name.includes(kind.word));
  return isOld ? [] : finalizers;
}

function refused<P extends SelectedPool>(
  input: SyncInput<P>,
  problem: string,
  says = problem,
): SyncPlan {
  return { problem, writes: said(input, [says]) };
}

/** None when the object says so already. @param problems - one after the other; undefined = all is well */
function said(
  {
    kind,
    origin,
    now,
    defects,
  }: Pick<SyncInput<SelectedPool>, 'kind' | 'origin' | 'now' | 'defects'>,
  problems: readonly (string | undefined)[],
): readonly Write[] {
  const { generation = 0 } = origin.metadata;
  const { conditions = [], observedGeneration = 0 } = origin.status ?? {};
  const recorded = problems.reduce<readonly OriginCondition[]>(
    (all, problem) => recordOutcome(kind, all, { problem, now }),
    conditions,
  );
  const after = defects === 'corrected' && !kind.hasAccepted ? newest(recorded) : recorded;
  if (observedGeneration === generation && isSameHistory(conditions, after)) return [];
  return [{ do: 'status', conditions: after, observedGeneration: generation }];
}
