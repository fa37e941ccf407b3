/** Cases that follow a KubeletConfig or ContainerRuntimeConfig through several looks, and its names. */

import {
  generatedName,
  newest,
  planRemoval,
  planSync,
  withOutcome,
  type Generated,
  type KnownConfig,
  type Origin,
  type OriginCondition,
  type OriginKind,
  type SelectedPool,
  type Write,
} from '../../core/generated-configs';
import { knownKeys, metadataOf, poolOf, shownMachineConfig, textOf } from './generated';
import { isJsonObject, type JsonObject } from './kind';

const NOW = '2030-01-02T00:00:00Z';
/** Of MachineConfigs that exist before. */
const EMPTY = { config: { ignition: { version: '3.5.0' } } };

type CaseStep =
  | { readonly create: JsonObject }
  | { readonly update: string; readonly spec: JsonObject }
  | { readonly delete: string }
  | { readonly sync: string };

export interface SyncCase {
  readonly pools: readonly JsonObject[];
  readonly machineConfigs?: readonly string[];
  readonly steps: readonly CaseStep[];
}

/** What differs between the kinds. */
export interface SyncedKind {
  readonly kind: OriginKind;
  /** Key of the object in an expected step. */
  readonly key: string;
  readonly version: string;
  readonly refusalOf: (origin: Origin) => string | undefined;
  readonly generate: (origin: Origin, pool: SelectedPool) => Generated;
  /** The files of a MachineConfig in the shape of the vectors. */
  readonly contentOf: (config: KnownConfig) => JsonObject;
  /** Expected steps with an error say whether it is tried again. */
  readonly saysRetried: boolean;
}

export interface NameCase {
  readonly pool: JsonObject;
  readonly origins: readonly JsonObject[];
  readonly for: string;
  readonly machineConfigs?: readonly string[];
}

export function nameAnswer(kind: OriginKind, input: NameCase): JsonObject {
  const origins = input.origins.map(originOf);
  const origin = origins.find(({ metadata }) => metadata.name === input.for) ?? {
    metadata: { name: input.for },
  };
  const names = new Set(input.machineConfigs ?? []);
  const verdict = generatedName(kind, {
    pool: selectedPool(input.pool),
    origin,
    origins,
    exists: (name) => names.has(name),
  });
  if ('problem' in verdict) return { error: verdict.problem };
  if (verdict.legacy !== undefined) {
    names.delete(verdict.legacy);
    names.add(verdict.name);
  }
  return { machineConfigName: verdict.name, machineConfigsAfter: [...names].sort() };
}

/** Messages that arrive one after the other. */
export function conditionsAnswer(messages: readonly string[]): JsonObject {
  const history = messages.reduce<readonly OriginCondition[]>(
    (all, message) => newest(withOutcome(all, { type: 'Accepted', status: 'False', message })),
    [],
  );
  return { messages: history.map(({ message }) => message) };
}

/** The objects of a case, which each write changes at once. */
class Store {
  readonly origins = new Map<string, Origin>();
  readonly configs = new Map<string, KnownConfig>();

  constructor(names: readonly string[]) {
    for (const name of names) {
      const labels = { 'machineconfiguration.openshift.io/role': 'x' };
      this.configs.set(name, { metadata: { name, labels }, spec: EMPTY });
    }
  }

  write(name: string, write: Write): void {
    if (write.do === 'create' || write.do === 'replace') {
      this.configs.set(write.config.metadata.name, write.config);
    } else if (write.do === 'remove') this.configs.delete(write.name);
    else if (write.do === 'mark') {
      const { annotations, finalizers } = write;
      this.change(name, (origin) => ({
        ...origin,
        metadata: { ...origin.metadata, annotations, finalizers },
      }));
    } else if (write.do === 'status') {
      const { conditions, observedGeneration } = write;
      this.change(name, (origin) => ({ ...origin, status: { conditions, observedGeneration } }));
    }
  }

  change(name: string, changed: (origin: Origin) => Origin): void {
    const origin = this.origins.get(name);
    if (origin === undefined) throw new Error(`a step names ${name}, which does not exist`);
    this.origins.set(name, changed(origin));
  }
}

export function syncAnswer(synced: SyncedKind, input: SyncCase): JsonObject {
  const store = new Store(input.machineConfigs ?? []);
  const pools = input.pools.map(selectedPool);
  const steps = input.steps.map((step) => stepAnswer(synced, { store, pools }, step));
  const machineConfigs = [...store.configs.values()]
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .map((config) => ({
      ...{ ...shownMachineConfig(config), files: undefined },
      ...synced.contentOf(config),
    }));
  return { machineConfigs, steps };
}

interface World {
  readonly store: Store;
  readonly pools: readonly SelectedPool[];
}

function stepAnswer(synced: SyncedKind, world: World, step: CaseStep): JsonObject {
  const { store } = world;
  if ('delete' in step) return deletion(synced.kind, store, step.delete);
  const name =
    'create' in step ? textOf(step.create, 'name') : 'update' in step ? step.update : step.sync;
  if ('create' in step) store.origins.set(name, originOf(step.create));
  else if ('update' in step) {
    store.change(name, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, generation: (metadata.generation ?? 0) + 1 },
      spec: step.spec,
    }));
  }
  const origin = store.origins.get(name);
  if (origin === undefined) throw new Error(`a step names ${name}, which does not exist`);
  const refusal = synced.refusalOf(origin);
  const plan = planSync({
    kind: synced.kind,
    origin,
    origins: [...store.origins.values()],
    pools: world.pools,
    configs: [...store.configs.values()],
    version: synced.version,
    now: NOW,
    refusal,
    generate: (pool) => synced.generate(origin, pool),
    defects: 'as-observed',
  });
  for (const write of plan.writes) store.write(name, write);
  const retried = synced.saysRetried ? { retried: refusal === undefined } : {};
  return {
    ...(plan.problem === undefined ? {} : { error: plan.problem, ...retried }),
    machineConfigs: [...store.configs.keys()].sort(),
    [synced.key]: shown(store.origins.get(name) ?? origin),
  };
}

function deletion(kind: OriginKind, store: Store, name: string): JsonObject {
  let syncsUntilNoFinalizer = 0;
  for (;;) {
    const origin = store.origins.get(name);
    if (origin === undefined) throw new Error(`a step deletes ${name}, which does not exist`);
    const writes = planRemoval(kind, origin, [...store.configs.values()]);
    if (writes.length === 0) break;
    syncsUntilNoFinalizer += 1;
    for (const write of writes) store.write(name, write);
  }
  store.origins.delete(name);
  return { machineConfigs: [...store.configs.keys()].sort(), syncsUntilNoFinalizer };
}

function shown({ metadata, status }: Origin): JsonObject {
  return {
    annotations: metadata.annotations ?? null,
    finalizers: [...(metadata.finalizers ?? [])].sort(),
    conditions: (status?.conditions ?? []).map(({ type, status: is, message }) => ({
      type,
      status: is,
      message,
    })),
    observedGeneration: status?.observedGeneration ?? 0,
  };
}

function selectedPool(given: JsonObject): SelectedPool {
  const { name, uid, labels } = poolOf(given);
  return { metadata: { name, ...(uid === '' ? {} : { uid }), labels } };
}

function originOf(given: JsonObject): Origin {
  knownKeys('object', given, ['name', 'annotations', 'finalizers', 'age', 'spec']);
  const { spec } = given;
  return { metadata: metadataOf(given), spec: isJsonObject(spec) ? spec : {} };
}
