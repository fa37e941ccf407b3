/**
 * Generates MachineConfigs from other objects of the cluster. One look sees everything, so that a
 * change for all pools costs each pool one render.
 */

import { refusalText } from '../../adapters/kube/api-errors';
import type { Resource } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import { failureName } from '../../core/errors';
import type { ConfigWrite, GeneratedObject, Origin } from '../../core/generated-configs';
import type { MachineConfigPool } from '../../core/pool/types';
import type { ClusterPicture } from '../cluster-picture';
import type { EventRecorder } from '../event-recorder';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';
import { writeConfig, writePlan } from './write-plan';

/** Shorter than the render controller's, which waits for the look. */
const COALESCING = { quietMs: 200, longestMs: 5_000 };
/** All is looked at together. */
const EVERYTHING = 'everything';

export interface GeneratingDeps {
  readonly picture: ClusterPicture;
  readonly writer: Writer;
  readonly events: EventRecorder;
  readonly log: Log;
  /** RFC 3339. */
  readonly now: () => string;
  /** Written on generated MachineConfigs. */
  readonly version: string;
}

/** What a look decided. */
export interface Look {
  readonly objects: readonly GeneratedObject[];
  /** MachineConfigs that no single object owns. */
  readonly cluster: readonly ConfigWrite[];
}

/** Of the cluster's MachineConfigs, one that the API server refuses. */
export interface RefusedWrite {
  readonly name: string;
  readonly says: string;
}

export interface Generator<L extends Look> {
  /** Of the objects that have pools, a number and conditions. */
  readonly resource: Resource<Origin>;
  readonly manager: string;
  /** Whose changes need a look, beside pools and MachineConfigs. */
  readonly watched: readonly { subscribe(listener: () => void): () => void }[];
  /** Names of the MachineConfigs that a look reads or writes. */
  readonly concerned: RegExp;
  look(): L;
  /** Says what is no problem of one object; called after the writes of each look. */
  tell?(look: L, refused: readonly RefusedWrite[]): void;
  /** After the MachineConfigs. */
  writeMore?(look: L): Promise<void>;
}

export class GeneratingController<L extends Look> {
  readonly #deps: GeneratingDeps;
  readonly #generator: Generator<L>;
  readonly #queue: WorkQueue;

  constructor(deps: GeneratingDeps, generator: Generator<L>, leading: AbortSignal) {
    this.#deps = deps;
    this.#generator = generator;
    this.#queue = new WorkQueue(
      {
        work: () => this.#look(),
        onFailure: (failure) => {
          const name = failureName(failure.error) ?? '';
          const isPassing = ['ApiUnavailable', 'Conflict'].includes(name);
          tellFailure(deps.log, failure, 'generated MachineConfigs stay for now', isPassing);
        },
        ...COALESCING,
      },
      leading,
    );
    const subscriptions = this.#subscribe();
    leading.addEventListener('abort', () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    });
    this.#queue.add(EVERYTHING);
  }

  /** When no look is going on. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  /** When every change so far has been looked at. */
  settled(): Promise<void> {
    return this.#queue.settle(EVERYTHING);
  }

  #subscribe(): readonly (() => void)[] {
    const { machineConfigs, pools } = this.#deps.picture;
    const { watched, concerned } = this.#generator;
    const look = (): void => this.#queue.add(EVERYTHING);
    return [
      ...watched.map((cache) => cache.subscribe(look)),
      machineConfigs.subscribe(({ object }) => {
        if (concerned.test(object.metadata.name)) look();
      }),
      pools.subscribe((event) => {
        const isSame =
          event.type === 'modified' && selectable(event.previous) === selectable(event.object);
        if (!isSame) look();
      }),
    ];
  }

  async #look(): Promise<void> {
    const look = this.#generator.look();
    const failures: unknown[] = [];
    const refused: RefusedWrite[] = [];
    /** One that cannot be written keeps no other one waiting. */
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      try {
        await work();
      } catch (error) {
        failures.push(error);
      }
    };
    for (const write of look.cluster) {
      await attempt(async () => {
        await writeConfig(this.#target, write).catch((error: unknown) => {
          const says = refusalText(error);
          if (says !== undefined) refused.push({ name: nameIn(write), says });
          throw error;
        });
        this.#said(write);
      });
    }
    this.#generator.tell?.(look, refused);
    for (const object of look.objects) await attempt(() => this.#write(object));
    await attempt(async () => this.#generator.writeMore?.(look));
    if (failures.length > 0) throw failures[0];
  }

  get #target() {
    const { writer, picture } = this.#deps;
    return { writer, machineConfigs: picture.machineConfigs, manager: this.#generator.manager };
  }

  async #write({ origin, writes, problem, refusedBy }: GeneratedObject): Promise<void> {
    if (writes.length === 0) return;
    const { resource } = this.#generator;
    try {
      await writePlan(this.#target, resource, origin, writes);
    } catch (error) {
      const says = refusalText(error);
      if (says !== undefined) {
        this.#deps.events.record({ resource, object: origin }, 'Warning', 'Refused', says);
        await writePlan(this.#target, resource, origin, refusedBy(says));
      }
      throw error;
    }
    const { log, events } = this.#deps;
    const subject = { resource, object: origin };
    if (problem === undefined) events.over(subject, 'Refused');
    else {
      log.warn({ object: textOf(resource, origin), reason: problem }, 'an object is refused');
      events.record(subject, 'Warning', 'Refused', problem);
    }
    for (const write of writes) {
      if (write.do !== 'mark' && write.do !== 'status') this.#said(write, textOf(resource, origin));
    }
  }

  #said(write: ConfigWrite, object?: string): void {
    const fields = {
      config: nameIn(write),
      write: write.do,
      ...(object === undefined ? {} : { object }),
    };
    this.#deps.log.info(fields, 'wrote a generated MachineConfig');
  }
}

function nameIn(write: ConfigWrite): string {
  return write.do === 'remove' ? write.name : write.config.metadata.name;
}

/** `kubeletconfig more-pods` */
function textOf({ kind }: Resource, { metadata: { name } }: Origin): string {
  return `${kind.toLowerCase()} ${name}`;
}

/** What selection and files of a pool depend on. */
function selectable({ metadata, spec }: MachineConfigPool): string {
  const { uid, labels, deletionTimestamp } = metadata;
  const { nodeSelector, machineConfigSelector } = spec;
  return JSON.stringify([uid, labels, deletionTimestamp, nodeSelector, machineConfigSelector]);
}
