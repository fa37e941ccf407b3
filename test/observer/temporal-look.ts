/** Rollouts and updates in Temporal, by names alone: no code of the product's workflows. */

import { Client, Connection, type WorkflowExecutionDescription } from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import { dataConverter, payloadCodec } from '../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import type { RolloutRecord } from './record';
import type { Sight } from './sight';
import { Silence, type OpenWorkflows, type Word } from './silence';

const LOOK_EVERY_MS = 3_000;
const PATIENCE_MS = 5_000;

export interface TemporalPlace {
  readonly address: string;
  readonly namespace: string;
  /** For one answer; absent = 5 s, so that an absent server is soon given up. */
  readonly patienceMs?: number;
  /** Directory; absent = payloads are readable. */
  readonly payloadKeys?: string;
}

/** Looks now and then, and reports silent waits. */
export class TemporalLook {
  #server: Server;
  /** Left servers, maybe with a question still open. */
  readonly #left: Server[] = [];
  #wake = new AbortController();

  constructor(
    private readonly place: TemporalPlace,
    private readonly record: RolloutRecord,
    readonly sight: Sight,
  ) {
    this.#server = new Server(place);
  }

  moveTo(address: string): void {
    this.#left.push(this.#server);
    this.#server = new Server({ ...this.place, address });
    this.lookNow();
  }

  /** Now, and not at the time of the next look. */
  lookNow(): void {
    this.#wake.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const silence = new Silence(this.record, {
      ask: (id) => this.#server.ask(id),
    });
    const isStopped = (): boolean => signal.aborted;
    while (!isStopped()) {
      // Before the look: a request meanwhile gets another look at once.
      this.#wake = new AbortController();
      await this.#look(silence);
      for (const server of this.#left.splice(0)) server.close();
      const woken = AbortSignal.any([signal, this.#wake.signal]);
      await delay(LOOK_EVERY_MS, undefined, { signal: woken }).catch(() => undefined);
    }
    this.#server.close();
  }

  async #look(silence: Silence): Promise<void> {
    let open: OpenWorkflows;
    const triedMs = Date.now();
    try {
      open = await this.#server.openWorkflows();
    } catch {
      // Absent, or an empty server without the namespace. The sight counts it.
      silence.interrupted(triedMs);
      return;
    }
    this.sight.looked(performance.now());
    // The look misses changes before the next one.
    this.sight.lost(performance.now());
    for (const { invariant, subject, text } of await silence.look(open, Date.now())) {
      this.record.report(invariant, subject, text);
    }
  }
}

class Server {
  readonly #connection: Connection;
  readonly #client: Client;
  readonly #patienceMs: number;

  constructor({ address, namespace, patienceMs = PATIENCE_MS, payloadKeys }: TemporalPlace) {
    this.#patienceMs = patienceMs;
    this.#connection = Connection.lazy({
      address,
      connectTimeout: patienceMs,
      channelArgs: {
        'grpc.initial_reconnect_backoff_ms': 200,
        'grpc.max_reconnect_backoff_ms': 1_000,
      },
    });
    const keys =
      payloadKeys && new PayloadKeyFiles(payloadKeys, { log: { warn: () => undefined } });
    const codec = keys ? payloadCodec(keys) : undefined;
    this.#client = new Client({
      ...{ connection: this.#connection, namespace, dataConverter: dataConverter(codec) },
    });
  }

  openWorkflows(): Promise<OpenWorkflows> {
    return this.#within(async () => {
      const ids = new Set<string>();
      const query = 'ExecutionStatus = "Running"';
      for await (const { workflowId } of this.#client.workflow.list({ query })) {
        ids.add(workflowId);
      }
      return { ids };
    });
  }

  ask(workflowId: string): Promise<Word> {
    return this.#within(() => wordOf(this.#client, workflowId));
  }

  /** After all questions have ended: the client dies of a retry on a closed channel. */
  close(): void {
    this.#connection.close().catch(() => undefined);
  }

  #within<T>(ask: () => Promise<T>): Promise<T> {
    return this.#connection.withDeadline(Date.now() + this.#patienceMs, ask);
  }
}

/**
 * Its own blocker, or what Temporal shows for a step that is retried. A rollout is asked only
 * whether a worker answers for it: its PoolRollout says what it waits for.
 */
async function wordOf(client: Client, workflowId: string): Promise<Word> {
  const handle = client.workflow.getHandle(workflowId);
  const described = await handle.describe();
  if (!isRunning(described)) return { runs: false };
  const failing = described.raw.pendingActivities?.find(
    ({ lastFailure }) => lastFailure?.message != null,
  );
  if (failing?.lastFailure?.message != null) {
    return { runs: true, blocker: failing.lastFailure.message };
  }
  const isRollout = workflowId.startsWith('pool-rollout/');
  const said = await handle.query<{ blocker?: string } | undefined>(
    isRollout ? 'progress' : 'status',
  );
  if (!isRollout && said?.blocker !== undefined) return { runs: true, blocker: said.blocker };
  // A workflow that has ended between the two questions waits for nothing.
  const after = await handle.describe().catch(() => described);
  return { runs: isRunning(after) };
}

function isRunning({ status }: WorkflowExecutionDescription): boolean {
  return status.name === 'RUNNING';
}
