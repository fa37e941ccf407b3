import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import { isSameNode } from '../../core/rollout';
import type {
  AwaitReturnInput,
  AwaitReturnProgress,
  ClusterActivities,
} from '../../workflows/contracts/cluster';
import type { ActivityRun, ClusterPorts } from './ports';
import { orDeleted, refuseAnotherNode } from './known-node';
import { ReadyCount } from './ready-count';
import { showMeanwhile } from './show-meanwhile';
import { SILENT_MS } from './silent-picture';
import { Wakeups } from './wakeups';

const HEARTBEAT_MS = 5_000;

/** A wait that takes less is not worth the write that shows it. */
const SHOWN_FROM_SECONDS = 30;

/** So long after an event the cache counts as current. */
const WORD_HOLDS_MS = 1_000;

/**
 * Waits until the node has been Ready, on the expected boot, for long enough without a break. Reads
 * only; a repetition starts the count again. When the watch is silent, the API server is asked.
 *
 * @throws `NodeNotReady`, `NodeDeleted`
 */
export function createAwaitReturn(ports: ClusterPorts): ClusterActivities['awaitReturn'] {
  return async (input) => {
    let shown = Promise.resolve();
    const isShown = input.summary !== undefined && input.readySeconds >= SHOWN_FROM_SECONDS;
    const showVerifying = (): void => {
      if (isShown) shown = showMeanwhile(ports, input, 'Verifying');
    };
    const wait = new ReadyWait(ports, input, showVerifying);
    try {
      await wait.untilDecided();
      await shown;
    } finally {
      wait.close();
    }
  };
}

interface Look {
  readonly node: Node;
  /** Temporal's time, ms since the epoch. */
  readonly at: number;
}

class ReadyWait {
  readonly #run: ActivityRun;
  readonly #wakeups: Wakeups;
  readonly #unsubscribe: () => void;
  readonly #count: ReadyCount;
  #isAsking = false;
  #asked: Look | undefined;
  /** The API server was absent, so a resumed watch may miss what happened. */
  #mustAnswer = false;
  /** Why the API server did not answer; undefined = the node's state is known. */
  #unanswered: string | undefined;
  #failure: Error | undefined;
  #told: string | undefined;
  #isReadyTold = false;

  /** @param onReady - called once, when the node is Ready and has to stay so */
  constructor(
    private readonly ports: Pick<ClusterPorts, 'view' | 'nodes' | 'run'>,
    private readonly input: AwaitReturnInput,
    private readonly onReady: () => void,
  ) {
    const run = ports.run();
    this.#run = run;
    this.#wakeups = new Wakeups(run.signal);
    this.#unsubscribe = ports.view.nodes.subscribe(({ object }) => {
      if (object.metadata.name === input.node) this.#wakeups.ring();
    });
    const waitedMs = waitedBefore(run.lastHeartbeat);
    this.#count = new ReadyCount(input, { beganAt: run.temporalNow(), waitedMs });
  }

  async untilDecided(): Promise<void> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const now = this.#run.temporalNow();
      const look = this.#look(now);
      if (look !== undefined) this.#count.saw(look.node, look.at);
      if (this.#count.isKnown) this.#unanswered = undefined;
      const { verdict, dueAt } = this.#count;
      if (verdict?.isReady === true) return;
      if (verdict?.isReady === false) throw notReady(this.input, verdict.why);
      this.#tellReady();
      const isOld = look === undefined || now - look.at > SILENT_MS;
      if ((isOld || now >= dueAt) && !this.#isAsking) void this.#ask(now);
      this.#tell(isOld || !this.#count.isKnown);
      const dueMs = this.#isAsking ? HEARTBEAT_MS : dueAt - now;
      await this.#wakeups.wait(Math.min(HEARTBEAT_MS, dueMs));
    }
  }

  close(): void {
    this.#unsubscribe();
    this.#wakeups.close();
  }

  #look(now: number): Look | undefined {
    if (this.#mustAnswer) return undefined;
    const { node: name, uid } = this.input;
    const { nodes } = this.ports.view;
    const shown = nodes.get(name);
    const at = now - Math.max(0, nodes.silentMs - WORD_HOLDS_MS);
    const asked = this.#asked;
    if (shown === undefined || !isSameNode(shown, uid)) {
      // The cache may be behind, or the node may be gone.
      return asked !== undefined && now - asked.at <= HEARTBEAT_MS ? asked : undefined;
    }
    if (asked === undefined) return { node: shown, at };
    // A resumed watch may still show events from before that answer.
    const isBehind = at < asked.at || versionOf(shown) < versionOf(asked.node);
    return isBehind ? asked : { node: shown, at };
  }

  /** Beside the loop, so that heartbeats go on: a hanging server is given up after 30 s. */
  async #ask(at: number): Promise<void> {
    const { node: name } = this.input;
    this.#isAsking = true;
    try {
      const node = await orDeleted(name, () => this.ports.nodes.read(name));
      refuseAnotherNode(node, this.input);
      this.#asked = { node, at };
      this.#mustAnswer = false;
      this.#wakeups.ring();
    } catch (error) {
      this.#notAnswered(error);
    } finally {
      this.#isAsking = false;
    }
  }

  /** An absent server is asked again at the next heartbeat. */
  #notAnswered(error: unknown): void {
    const failure = failureName(error);
    if (failure === undefined || FAILURES[failure].kind !== 'transient') {
      this.#failure = error instanceof Error ? error : new Error(messageOf(error));
      this.#wakeups.ring();
      return;
    }
    this.#unanswered = messageOf(error);
    const now = this.#run.temporalNow();
    const { at = -Infinity } = this.#look(now) ?? {};
    if (now - at <= HEARTBEAT_MS) return;
    this.#mustAnswer = true;
    this.#count.lost(now);
  }

  #tellReady(): void {
    if (this.#isReadyTold || !this.#count.isKnown || this.#count.blocker !== undefined) return;
    this.#isReadyTold = true;
    this.onReady();
  }

  #tell(isUnknown: boolean): void {
    const { waitedMs } = this.#count;
    const missing = isUnknown ? unknown(this.#unanswered) : this.#count.blocker;
    const blocker = missing ?? 'Ready, but not yet for long enough';
    this.#run.heartbeat({ blocker, waitedMs } satisfies AwaitReturnProgress);
    // A question that was just sent is no blocker yet.
    if (isUnknown && this.#unanswered === undefined) return;
    if (missing !== undefined && missing !== this.#told) {
      this.#run.log.info('waiting for node', { node: this.input.node, blocker: missing });
    }
    this.#told = missing;
  }
}

function unknown(reason = 'its watch is silent'): string {
  return `the state of the node from the Kubernetes API server: ${reason}`;
}

function waitedBefore(lastHeartbeat: unknown): number {
  const { waitedMs } = (lastHeartbeat ?? {}) as Partial<AwaitReturnProgress>;
  return typeof waitedMs === 'number' ? waitedMs : 0;
}

function notReady({ node, timeoutSeconds }: AwaitReturnInput, blocker: string): Error {
  const message = `node ${node} was not Ready within ${timeoutSeconds} s: ${blocker}`;
  return fail('NodeNotReady', message, { node, blocker });
}
