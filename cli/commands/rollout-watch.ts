/**
 * The live tree, until the rollout ends, halts or times out. A server that does not answer is named
 * and asked again. Ctrl-C only detaches.
 */

import { messageOf } from '../../core/errors';
import { cliError, EXIT, type ExitCode } from '../exit-codes';
import { type LiveView, openLiveView } from '../live-view';
import type { WatchOptions } from '../options';
import { awaitAnswer, isPassing, WORKER } from '../await-answer';
import type { CliCluster, CliContext, ClusterView } from '../ports';
import { exitCodeOf, isSettled, type RolloutSnapshot } from '../snapshot';
import { whenAborted } from '../../process/when-aborted';

type Look = (view: ClusterView) => Promise<RolloutSnapshot>;

/** A rollout can end, halt or be paused without a change in the cluster. */
const ASK_AGAIN_MS = 2_000;
/** A watch without events may be dead. */
const PROBE_MS = 5_000;

/** @throws errors that waiting does not fix, and an unreachable server at the start */
export async function watchRollout(
  context: CliContext,
  poolName: string,
  options: WatchOptions,
  look: Look,
): Promise<ExitCode> {
  const begun = await orAborted(context.signal, begin(context, look));
  if (begun === undefined) return detached(context, poolName);
  const watch = new RolloutWatch(context, { poolName, options, look, ...begun });
  return watch.run();
}

interface Begun {
  readonly cluster: CliCluster;
  readonly view: ClusterView;
  readonly first: RolloutSnapshot;
}

async function begin(context: CliContext, look: Look): Promise<Begun> {
  const cluster = await context.cluster();
  const view = await cluster.read();
  return { cluster, view, first: await awaitAnswer(context, WORKER, look(view)) };
}

/** Undefined when the signal aborts first. */
async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
  const aborted = whenAborted(signal).then(() => undefined);
  return Promise.race([work, aborted]).catch((error: unknown) => {
    // The question failed because of Ctrl-C.
    if (signal.aborted) return undefined;
    throw error;
  });
}

function detached(context: CliContext, poolName: string): ExitCode {
  context.terminal.err.write(`detached; the rollout of pool ${poolName} goes on\n`);
  return EXIT.OK;
}

interface WatchInput extends Begun {
  readonly poolName: string;
  readonly options: WatchOptions;
  readonly look: Look;
}

class RolloutWatch {
  readonly #context: CliContext;
  readonly #input: WatchInput;
  readonly #stop = new AbortController();
  readonly #troubles: Troubles;
  readonly #live: LiveView;
  #latest: RolloutSnapshot;
  #view: ClusterView;
  #failure: { readonly error: unknown } | undefined;

  constructor(context: CliContext, input: WatchInput) {
    this.#context = context;
    this.#input = input;
    this.#latest = input.first;
    this.#view = input.view;
    this.#live = openLiveView(context, input.options.output);
    this.#troubles = new Troubles(this.#live);
  }

  async run(): Promise<ExitCode> {
    const { signal } = this.#stop;
    const { timeoutSeconds } = this.#input.options;
    const detach = () => this.#stop.abort('detached');
    this.#context.signal.addEventListener('abort', detach, { once: true });
    if (this.#context.signal.aborted) detach();
    const look = latestOnly(() => this.#ask('rollout', () => this.#look()));
    const probe = latestOnly(() => this.#ask('cluster', () => this.#probe()));
    const timers = [setInterval(look, ASK_AGAIN_MS), setInterval(probe, PROBE_MS)];
    const timeout =
      timeoutSeconds === undefined
        ? undefined
        : setTimeout(() => this.#stop.abort('timeout'), timeoutSeconds * 1000);
    try {
      this.#show(this.#latest);
      const onChange = (view: ClusterView) => {
        this.#view = view;
        look();
      };
      if (!signal.aborted) await this.#input.cluster.follow(onChange, signal);
    } finally {
      timers.forEach(clearInterval);
      clearTimeout(timeout);
      this.#context.signal.removeEventListener('abort', detach);
      this.#live.close();
    }
    return this.#end();
  }

  /** Records whether an answer came. Never throws. */
  async #ask(whom: Whom, question: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    try {
      await question();
      if (!signal.aborted) this.#troubles.answered(whom);
    } catch (error) {
      if (signal.aborted) return;
      if (isPassing(error)) {
        this.#troubles.silent(whom, messageOf(error));
        return;
      }
      this.#failure = { error };
      this.#stop.abort('failed');
    }
  }

  async #look(): Promise<void> {
    this.#mustExist(this.#view.pools.map(({ metadata }) => metadata.name));
    const snapshot = await this.#input.look(this.#view);
    if (!this.#stop.signal.aborted) this.#show(snapshot);
  }

  async #probe(): Promise<void> {
    this.#mustExist(await this.#input.cluster.poolNames());
  }

  #mustExist(pools: readonly string[]): void {
    const { poolName } = this.#input;
    if (pools.includes(poolName)) return;
    throw cliError(
      EXIT.NOT_FOUND,
      `pool ${poolName} was deleted: there is no rollout to watch any more`,
    );
  }

  #show(snapshot: RolloutSnapshot): void {
    this.#latest = snapshot;
    this.#live.show(snapshot);
    if (isSettled(snapshot)) this.#stop.abort('settled');
  }

  #end(): ExitCode {
    const reason: unknown = this.#stop.signal.reason;
    if (reason === 'detached') return detached(this.#context, this.#input.poolName);
    if (this.#failure !== undefined) throw this.#failure.error;
    if (reason === 'timeout') {
      throw timedOut(
        this.#latest,
        this.#input.options.timeoutSeconds ?? 0,
        this.#troubles.sentences,
      );
    }
    return exitCodeOf(this.#latest);
  }
}

type Whom = 'rollout' | 'cluster';

class Troubles {
  readonly #live: LiveView;
  readonly #known = new Map<Whom, string>();

  constructor(live: LiveView) {
    this.#live = live;
  }

  get sentences(): readonly string[] {
    return [...this.#known.values()];
  }

  silent(whom: Whom, sentence: string): void {
    if (this.#known.get(whom) === sentence) return;
    this.#known.set(whom, sentence);
    this.#live.trouble(this.sentences);
  }

  answered(whom: Whom): void {
    if (this.#known.delete(whom)) this.#live.trouble(this.sentences);
  }
}

function timedOut(latest: RolloutSnapshot, seconds: number, troubles: readonly string[]): Error {
  const code = latest.state === 'Paused' ? EXIT.PAUSED : EXIT.TIMED_OUT;
  const why = [...(latest.blocker === undefined ? [] : [latest.blocker]), ...troubles]
    .map((sentence) => `; ${sentence}`)
    .join('');
  return cliError(
    code,
    `pool ${latest.pool} is ${latest.state} after ${seconds} s: ${latest.updated} of ${latest.machineCount} nodes updated${why}`,
  );
}

/** Calls during a run are folded into one further run. `work` does not throw. */
function latestOnly(work: () => Promise<void>): () => void {
  let isAsked = false;
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (isAsked) {
      isAsked = false;
      await work();
    }
    isRunning = false;
  };
  return () => {
    isAsked = true;
    if (!isRunning) void run();
  };
}
