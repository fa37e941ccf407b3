/** Events are written beside their objects; those of cluster-scoped ones in the usual namespace `default`. */

import { cut } from '../../core/encoding/one-line';
import { messageOf } from '../../core/errors';
import { rfc3339 } from '../../core/rfc3339';
import type { KubeClient } from './client';
import { apiVersionOf, EVENTS, MACHINE_CONFIG_POOLS, type KubeObject } from './resources';
import type { Log } from './transport';

interface EventText {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

interface InvolvedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly namespace?: string;
}

export class EventWriter {
  constructor(
    private readonly client: KubeClient,
    private readonly component: string,
  ) {}

  async on(involvedObject: InvolvedObject, event: EventText, now = new Date()): Promise<void> {
    const suffix = `${now.getTime().toString(16)}${Math.floor(Math.random() * 0xffff).toString(16)}`;
    const timestamp = rfc3339(now);
    const object: KubeObject & Record<string, unknown> = {
      apiVersion: apiVersionOf(EVENTS),
      kind: EVENTS.kind,
      metadata: {
        name: `${involvedObject.name}.${suffix}`,
        namespace: involvedObject.namespace ?? 'default',
      },
      involvedObject,
      type: event.type,
      reason: event.reason,
      message: cut(event.message, 1024),
      source: { component: this.component },
      firstTimestamp: timestamp,
      lastTimestamp: timestamp,
      count: 1,
    };
    await this.client.create(EVENTS, object, { fieldManager: this.component });
  }
}

/** As client-go's recorder has it (tools/record/event.go): more than that are dropped. */
const MOST_WAITING = 1000;
const MOST_AT_ONCE = 2;

/** Nothing waits for these Events, and a lost one is only logged. */
export class EventQueue {
  readonly #waiting: (() => Promise<void>)[] = [];
  #writers = 0;

  constructor(
    private readonly writer: Pick<EventWriter, 'on'>,
    private readonly log: Log,
  ) {}

  onNode({ name }: { readonly name: string }, event: EventText): void {
    // `kubectl describe node` finds Events by the name in uid.
    this.#add({ apiVersion: 'v1', kind: 'Node', name, uid: name }, event);
  }

  onPool({ name, uid }: { readonly name: string; readonly uid: string }, event: EventText): void {
    const { kind } = MACHINE_CONFIG_POOLS;
    this.#add({ apiVersion: apiVersionOf(MACHINE_CONFIG_POOLS), kind, name, uid }, event);
  }

  #add(about: InvolvedObject, event: EventText): void {
    const lost = (reason: string): void => {
      this.log.debug({ about: about.name, event: event.reason, reason }, 'event was not written');
    };
    if (this.#waiting.length >= MOST_WAITING) {
      lost(`${MOST_WAITING} wait already`);
      return;
    }
    const now = new Date();
    this.#waiting.push(async () => {
      try {
        await this.writer.on(about, event, now);
      } catch (error) {
        lost(messageOf(error));
      }
    });
    if (this.#writers < MOST_AT_ONCE) void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#writers += 1;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await next();
    }
    this.#writers -= 1;
  }
}
