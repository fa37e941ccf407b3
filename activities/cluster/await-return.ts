import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import type { NodePhase } from '../../core/node/lifecycle';
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
import { tell } from './tell';
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
    const show = (phase: NodePhase): void => {
      shown = shown.then(() => showMeanwhile(ports, input, phase));
    };
    const wait = new ReadyWait(ports, input, input.summary === undefined ? undefined : show);
    tellReboot(ports, input);
    try {
      const bootId = await wait.untilDecided();
      await shown;
      return bootId === undefined ? {} : { bootId };
    } finally {
      wait.close();
    }
  };
}

function tellReboot(ports: ClusterPorts, { node, config, rebootedFrom }: AwaitReturnInput): void {
  const known = ports.view.nodes.get(node);
  if (rebootedFrom === undefined || known === undefined || ports.run().attempt > 1) return;
  tell(ports, known, 'Normal', 'Reboot', `Node will reboot into config ${config}`);
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
  #shown: NodePhase | undefined;

  /** @param show - of a machine that reboots or has rebooted, the phase that it is in */
  constructor(
    private readonly ports: Pick<ClusterPorts, 'view' | 'nodes' | 'run'>,
    private readonly input: AwaitReturnInput,
    private readonly show: ((phase: NodePhase) => void) | undefined,
  ) {
    const run = ports.run();
    this.#run = run;
    this.#wakeups = new Wakeups(run.signal);
    this.#unsubscribe = ports.view.nodes.subscribe(({ object }) => {
      if (object.metadata.name === input.node) this.#wakeups.ring();
    });
    // That it reboots is shown already, where its host has proven the new boot.
    if (input.rebootedFrom === undefined) this.#shown = 'Rebooting';
    const before = countedBefore(run.lastHeartbeat);
    this.#count = new ReadyCount(input, { beganAt: run.temporalNow(), before });
    this.#showPhase();
  }

  /** @returns the boot in which it is Ready, as it says */
  async untilDecided(): Promise<string | undefined> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure;
      const now = this.#run.temporalNow();
      const look = this.#look(now);
      if (look !== undefined) this.#count.saw(look.node, look.at);
      if (this.#count.isKnown) this.#unanswered = undefined;
      const { verdict, dueAt } = this.#count;
      if (verdict?.isReady === true) return this.#count.bootId;
      if (verdict?.isReady === false)
        throw notReady(this.input.node, this.#count.allowedSeconds, verdict.why);
      this.#showPhase();
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

  /** Verifying: it is back and Ready, and has to stay so. */
  #showPhase(): void {
    const { isBooted, blocker } = this.#count;
    const isLong = this.input.readySeconds >= SHOWN_FROM_SECONDS;
    const phase = isBooted && isLong && blocker === undefined ? 'Verifying' : 'Rebooting';
    if (phase === this.#shown || this.#shown === 'Verifying') return;
    this.#shown = phase;
    this.show?.(phase);
  }

  #tell(isUnknown: boolean): void {
    const { waitedMs, isBooted } = this.#count;
    const missing = isUnknown ? unknown(this.#unanswered) : this.#count.blocker;
    const blocker = missing ?? 'Ready, but not yet for long enough';
    this.#run.heartbeat({ blocker, waitedMs, isBooted } satisfies AwaitReturnProgress);
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

function countedBefore(lastHeartbeat: unknown): Pick<AwaitReturnProgress, 'waitedMs' | 'isBooted'> {
  const progress = lastHeartbeat as Partial<AwaitReturnProgress> | undefined | null;
  const { waitedMs, isBooted } = progress ?? {};
  return {
    waitedMs: typeof waitedMs === 'number' ? waitedMs : 0,
    isBooted: isBooted === true,
  };
}

function notReady(node: string, seconds: number, blocker: string): Error {
  const message = `node ${node} was not Ready within ${seconds} s: ${blocker}`;
  return fail('NodeNotReady', message, { node, blocker });
}
