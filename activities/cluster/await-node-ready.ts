import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import { isSameNode } from '../../core/rollout';
import type {
  AwaitReadyInput,
  AwaitReadyProgress,
  ClusterActivities,
} from '../../workflows/cluster-contracts';
import type { ActivityRun, ClusterPorts } from './ports';
import { orDeleted, refuseAnotherNode } from './known-node';
import { ReadyCount } from './ready-count';
import { SILENT_MS } from './silent-picture';
import { Wakeups } from './wakeups';

const HEARTBEAT_MS = 5_000;

/** So much longer than its last word the picture is trusted: where much happens, no node costs a request. */
const WORD_HOLDS_MS = 1_000;

/**
 * Waits on the watch until the node has been Ready, on the expected boot, for long enough without a
 * break. Reads only, so running twice only starts that count again. Nothing is decided on a picture of which
 * nothing has been heard: the API server is asked, and while it does not answer no time counts.
 *
 * @throws `NodeNotReady`, `NodeDeleted`
 */
export function createAwaitNodeReady(ports: ClusterPorts): ClusterActivities['awaitNodeReady'] {
  return async (input) => {
    const wait = new ReadyWait(ports, input);
    try {
      await wait.untilDecided();
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
  /** What the API server has answered. */
  #asked: Look | undefined;
  /** It was away: a watch that is taken up again has yet to show what has happened meanwhile. */
  #mustAnswer = false;
  /** Why it has not, the last time; undefined = it is known how the node is. */
  #unanswered: string | undefined;
  #failure: Error | undefined;
  #told: string | undefined;

  constructor(
    private readonly ports: Pick<ClusterPorts, 'view' | 'nodes' | 'run'>,
    private readonly input: AwaitReadyInput,
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

  /** @throws `NodeNotReady`, `NodeDeleted` */
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

  /** The newest that is known of the node; undefined = nothing, and the API server is to say it. */
  #look(now: number): Look | undefined {
    if (this.#mustAnswer) return undefined;
    const { node: name, uid } = this.input;
    const { nodes } = this.ports.view;
    const shown = nodes.get(name);
    const at = now - Math.max(0, nodes.silentMs - WORD_HOLDS_MS);
    const asked = this.#asked;
    if (shown === undefined || !isSameNode(shown, uid)) {
      // The picture may be behind, or the node gone by now.
      return asked !== undefined && now - asked.at <= HEARTBEAT_MS ? asked : undefined;
    }
    if (asked === undefined) return { node: shown, at };
    // A watch that goes on may have much to show yet from before that answer.
    const isBehind = at < asked.at || versionOf(shown) < versionOf(asked.node);
    return isBehind ? asked : { node: shown, at };
  }

  /** Beside the loop, which goes on to say that it lives: a server that hangs is given up after half a minute. */
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

  /** A server that is away is asked again at the next heartbeat, and knows nothing unless its watch goes on. */
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

  /** What is waited for, and how much of the node's time is over, for whoever goes on when this worker dies. */
  #tell(isUnknown: boolean): void {
    const { waitedMs } = this.#count;
    const missing = isUnknown ? unknown(this.#unanswered) : this.#count.blocker;
    const blocker = missing ?? 'Ready, watching that it stays so';
    this.#run.heartbeat({ blocker, waitedMs } satisfies AwaitReadyProgress);
    // A question that was just put is no news.
    if (isUnknown && this.#unanswered === undefined) return;
    if (missing !== undefined && missing !== this.#told) {
      this.#run.log.info('waiting for node', { node: this.input.node, blocker: missing });
    }
    this.#told = missing;
  }
}

/** Nobody can say how the node is. */
function unknown(reason = 'its watch says nothing'): string {
  return `the Kubernetes API server to say how the node is: ${reason}`;
}

function waitedBefore(lastHeartbeat: unknown): number {
  const progress = lastHeartbeat as Partial<AwaitReadyProgress> | undefined | null;
  return typeof progress?.waitedMs === 'number' ? progress.waitedMs : 0;
}

function notReady(input: AwaitReadyInput, blocker: string): Error {
  return fail(
    'NodeNotReady',
    `node ${input.node} was not Ready within ${input.timeoutSeconds} s: ${blocker}`,
    { node: input.node, blocker },
  );
}
