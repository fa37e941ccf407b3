/**
 * A MachineConfig that cannot be rendered degrades only the pools that select it; they keep their
 * config.
 */

import { MACHINE_CONFIG_POOLS, MACHINE_CONFIGS } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { fail, FAILURES, failureName, messageOf } from '../../core/errors';
import {
  generatedElsewhereText,
  type MachineConfig,
  type RenderedMachineConfig,
} from '../../core/machine-config';
import { canonicalJson } from '../../core/machine-config/canonical';
import { ANNOTATION, FIELD_MANAGER, PoolCondition } from '../../core/names';
import { setCondition, type ConditionValue } from '../../core/pool/conditions';
import { ignoredFields } from '../../core/pool/ignored-fields';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import type { ControllerMetrics, RenderOutcome } from '../metrics';
import { tellFailure, WorkQueue } from '../work-queue';
import { renderPool } from './render-pool';
import { configurationPart, poolsConcerned, renderedPart } from './render-triggers';
import { configurationOf, renderedObject } from './rendered-object';

const FIELD_OWNER = `${FIELD_MANAGER.CONTROLLERS}-render`;

/** A folder of manifests, applied in a second or two, counts as one change. */
const COALESCING = { quietMs: 500, longestMs: 10_000 };

export interface RenderDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly events: EventRecorder;
  readonly metrics: ControllerMetrics;
  readonly log: Log;
  /** @throws `ObjectNotFound` */
  readonly readConfig: (name: string) => Promise<MachineConfig>;
  /** RFC 3339. */
  readonly now: () => string;
  /** Written on rendered configs. */
  readonly version: string;
  /** When no MachineConfig is being generated: several that change together cost one render. */
  readonly settled: () => Promise<void>;
}

/** A refused write is reported once. */
const REFUSED_AGAIN_MS = 60_000;

/** MCO's reason. */
const OVERRIDDEN = 'OSImageURLOverridden';

export class RenderController {
  readonly #deps: RenderDeps;
  readonly #leading: AbortSignal;
  readonly #queue: WorkQueue;
  /** By pool: the echo of the last write must not cause a render. */
  readonly #written = new Map<string, string>();

  constructor(deps: RenderDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#leading = leading;
    this.#queue = new WorkQueue(
      {
        work: (pool) => this.#sync(pool),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'rendering failed; will try again');
        },
        ...COALESCING,
      },
      leading,
    );
    const subscriptions = this.#subscribe();
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    this.#everyPool();
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #subscribe(): readonly (() => void)[] {
    const { machineConfigs, pools, controllerConfigs } = this.#deps.picture;
    return [
      machineConfigs.subscribe((event) => {
        for (const pool of poolsConcerned(event, pools.list())) this.#queue.add(pool);
      }),
      pools.subscribe((event) => {
        const { name } = event.object.metadata;
        if (event.type === 'modified') {
          const isSame = renderedPart(event.previous) === renderedPart(event.object);
          const isEcho = configurationPart(event.object) === this.#written.get(name);
          if (isSame && isEcho) return;
          const isConfigurationSame =
            configurationPart(event.previous) === configurationPart(event.object);
          if (isSame && isConfigurationSame) return;
        }
        this.#queue.add(name);
      }),
      controllerConfigs.subscribe(() => {
        this.#everyPool();
      }),
    ];
  }

  #everyPool(): void {
    for (const pool of this.#deps.picture.pools.list()) this.#queue.add(pool.metadata.name);
  }

  async #sync(name: string): Promise<void> {
    await this.#deps.settled();
    const pool = this.#deps.picture.pools.get(name);
    if (pool === undefined) {
      this.#written.delete(name);
      this.#queue.forget(name);
      return;
    }
    if (pool.metadata.deletionTimestamp !== undefined) return;
    const startedAt = performance.now();
    const finish = (outcome: RenderOutcome): number => {
      const seconds = (performance.now() - startedAt) / 1000;
      this.#deps.metrics.rendered(name, outcome, seconds);
      return Math.round(seconds * 1000);
    };
    try {
      const rendered = await this.#render(pool);
      if (rendered === undefined) return;
      const durationMs = finish(rendered.isNew ? 'created' : 'unchanged');
      if (rendered.isNew) {
        const { config, sources } = rendered;
        this.#deps.log.info({ pool: name, config, sources, durationMs }, 'rendered config');
      }
    } catch (error) {
      if (this.#leading.aborted || !isStalled(error)) {
        finish('failed');
        throw error;
      }
      await this.#degrade(pool, error);
      finish('degraded');
      // An admission policy may be fixed without a change that causes a render.
      if (isRefusedWrite(error)) this.#queue.addAfter(name, REFUSED_AGAIN_MS);
    }
  }

  /**
   * The cache does not show the pool's config: it was deleted, or the cache is old. A render from
   * old MachineConfigs would send all nodes back to an older config.
   *
   * @throws `ApiUnavailable` when the config exists
   */
  async #refuseOlderPicture({ metadata: { name }, spec }: MachineConfigPool): Promise<void> {
    const { picture, readConfig, log } = this.#deps;
    const config = spec.configuration?.name;
    const isShown = () => config === undefined || picture.machineConfigs.get(config) !== undefined;
    if (config === undefined || isShown()) return;
    try {
      await readConfig(config);
    } catch (error) {
      if (failureName(error) === 'ObjectNotFound') return;
      throw error;
    }
    if (isShown()) return;
    log.warn({ pool: name, config }, 'not rendered yet: the watch of machineconfigs is behind');
    const message = `the watch of machineconfigs is behind: pool ${name} is on ${config}, which it does not show`;
    throw fail('ApiUnavailable', message);
  }

  /** Undefined = the pool selects everything. */
  async #render(
    pool: MachineConfigPool,
  ): Promise<
    { readonly config: string; readonly sources: number; readonly isNew: boolean } | undefined
  > {
    const { picture, events, metrics, version } = this.#deps;
    const { name } = pool.metadata;
    await this.#refuseOlderPicture(pool);
    this.#tellIgnored(pool);
    const render = renderPool(picture, pool, version);
    if (render === undefined) {
      events.record(
        { resource: MACHINE_CONFIG_POOLS, object: pool },
        'Warning',
        'SelectingAll',
        'This pool is selecting all MachineConfigs, so none is rendered. ' +
          'A non-empty spec.machineConfigSelector is required.',
      );
      return undefined;
    }
    const { rendered, sources } = render;
    this.#tellGenerated(pool, sources);
    const isNew = await this.#store(pool, rendered);
    await this.#pointTo(pool, rendered, sources);
    await this.#setCondition(pool, { type: PoolCondition.RENDER_DEGRADED, status: 'False' });
    const isOverridden = rendered.annotations[ANNOTATION.OS_IMAGE_URL_OVERRIDDEN] === 'true';
    metrics.osImageOverridden(name, isOverridden);
    this.#tellOverride(pool, isOverridden ? rendered.spec.osImageURL : undefined);
    return { config: rendered.name, sources: sources.length, isNew };
  }

  #tellOverride(pool: MachineConfigPool, image: string | undefined): void {
    const { events } = this.#deps;
    const subject = { resource: MACHINE_CONFIG_POOLS, object: pool };
    if (image === undefined) events.over(subject, OVERRIDDEN);
    else events.record(subject, 'Normal', OVERRIDDEN, `a MachineConfig sets osImageURL: ${image}`);
  }

  #tellIgnored(pool: MachineConfigPool): void {
    const fields = ignoredFields(pool).map((field) => `spec.${field}`);
    if (fields.length === 0) return;
    const message = `${fields.join(' and ')} of this pool ${fields.length === 1 ? 'is' : 'are'} not acted upon`;
    const object = { resource: MACHINE_CONFIG_POOLS, object: pool };
    this.#deps.events.record(object, 'Warning', 'FieldIgnored', message);
  }

  #tellGenerated(pool: MachineConfigPool, sources: readonly MachineConfig[]): void {
    const text = generatedElsewhereText(sources, this.#deps.version);
    if (text === '') return;
    const object = { resource: MACHINE_CONFIG_POOLS, object: pool };
    this.#deps.events.record(object, 'Normal', 'GeneratedElsewhere', text);
  }

  /** True = the rendered config is new. */
  async #store(pool: MachineConfigPool, rendered: RenderedMachineConfig): Promise<boolean> {
    const { picture, writer, events, log, version } = this.#deps;
    const existing = picture.machineConfigs.get(rendered.name);
    const object = renderedObject(rendered, pool);
    if (existing === undefined) {
      await writer.create(MACHINE_CONFIGS, object, FIELD_OWNER);
      const release = rendered.annotations[ANNOTATION.RELEASE_IMAGE_VERSION] ?? '';
      events.record(
        { resource: MACHINE_CONFIG_POOLS, object: pool },
        'Normal',
        'RenderedConfigGenerated',
        `${rendered.name} successfully generated (release version: ${release}, controller version: ${version})`,
      );
      return true;
    }
    if (canonicalJson(existing.spec) === canonicalJson(object.spec)) return false;
    log.warn({ config: rendered.name }, 'a rendered config was changed; restoring it');
    const patch = [{ op: 'replace', path: '/spec', value: object.spec }];
    await writer.patch(MACHINE_CONFIGS, { name: rendered.name }, patch, {
      manager: FIELD_OWNER,
      kind: 'json',
    });
    return false;
  }

  async #pointTo(
    pool: MachineConfigPool,
    rendered: RenderedMachineConfig,
    sources: readonly MachineConfig[],
  ): Promise<void> {
    const configuration = configurationOf(rendered, sources);
    const wanted = configurationPart({ spec: { configuration } });
    const { name, uid } = pool.metadata;
    this.#written.set(name, wanted);
    if (configurationPart(pool) === wanted) return;
    await this.#deps.writer.apply(
      MACHINE_CONFIG_POOLS,
      { metadata: { name, ...(uid === undefined ? {} : { uid }) }, spec: { configuration } },
      { manager: FIELD_OWNER },
    );
  }

  async #degrade(pool: MachineConfigPool, error: unknown): Promise<void> {
    const { log, events } = this.#deps;
    const { name } = pool.metadata;
    const reason = failureName(error) ?? 'InternalError';
    const message = `Failed to render configuration for pool ${name}: ${messageOf(error)}`;
    const type = PoolCondition.RENDER_DEGRADED;
    const changed = await this.#setCondition(pool, { type, status: 'True', reason, message });
    if (!changed) return;
    events.record({ resource: MACHINE_CONFIG_POOLS, object: pool }, 'Warning', reason, message);
    if (reason === 'InternalError') log.error({ pool: name, err: error }, 'rendering has a bug');
    else log.warn({ pool: name, reason: messageOf(error) }, 'pool cannot be rendered');
  }

  async #setCondition(pool: MachineConfigPool, value: ConditionValue): Promise<boolean> {
    const present = this.#deps.picture.pools.get(pool.metadata.name) ?? pool;
    const before = present.status?.conditions ?? [];
    const after = setCondition(before, value, this.#deps.now());
    if (after === before) return false;
    const { name, uid } = pool.metadata;
    const conditions = after.filter(({ type }) => type === value.type);
    await this.#deps.writer.apply(
      MACHINE_CONFIG_POOLS,
      { metadata: { name, ...(uid === undefined ? {} : { uid }) }, status: { conditions } },
      { manager: FIELD_OWNER, subresource: 'status' },
    );
    return true;
  }
}

function isRefusedWrite(error: unknown): boolean {
  return ['ApiRefused', 'ObjectNotFound'].includes(failureName(error) ?? '');
}

/**
 * Mistakes of a person and bugs would fail again, so they are shown on the pool. Other failures are
 * retried.
 */
function isStalled(error: unknown): boolean {
  const name = failureName(error);
  return name === undefined || FAILURES[name].kind === 'stalled';
}
