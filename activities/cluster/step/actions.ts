import { withHistory } from '../../../core/history/updates';
import { ANNOTATION } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import type { Decision } from '../../../core/rollout/decide';
import type { OpenUpdate } from '../../../core/rollout/picture';
import type { Grant } from '../../../core/rollout/pool-rollout';
import type { WantedUpdate } from '../../../core/rollout/running';
import { markToClose } from '../../../core/rollout/standing';
import type { ConfigReference } from '../../../workflows/contracts/host';
import { ConfigDigests } from '../config-digests';
import { inParallel } from '../../../core/concurrency-limit';
import { unlessGone } from '../known-node';
import type { NodeChange, PoolChange } from '../ports';
import type { SeenPool } from './look';
import type { RequestSaver } from './request-saver';
import type { StepPorts } from './ports';

/** Grants never wait behind starts, and starts take turns with grants. */
const STARTS_AT_MOST = 8;
/** So that a step ends in its time when Temporal is slow. */
const CANCELS_AT_MOST = 64;
const PARALLEL = 8;

/** Acts on a decision that is written. Each act may be done twice, and by two workers. */
export class Actions {
  readonly #digests: ConfigDigests;

  constructor(
    private readonly ports: StepPorts,
    private readonly saver: RequestSaver,
  ) {
    this.#digests = new ConfigDigests(ports.configs);
  }

  /**
   * @param open - updates, as they are listed
   * @returns whether nothing is left to be started
   */
  async follow(
    { close, cancel, start, ended }: Decision,
    open: readonly OpenUpdate[],
    seen: SeenPool,
  ): Promise<boolean> {
    const { nodeUpdates } = this.ports;
    await inParallel(close, PARALLEL, (grant) => this.#close(grant));
    const toCancel = cancel.filter(({ run }) => !this.saver.wasCancelled(run));
    await inParallel(toCancel.slice(0, CANCELS_AT_MOST), PARALLEL, async (update) => {
      await nodeUpdates.cancel(update);
      this.saver.hasCancelled(update.run);
    });
    const listed = new Map(open.map(({ node, run }) => [node, run]));
    const toStart = start.filter(({ node, after }) => {
      const run = listed.get(node);
      return !this.saver.wasStarted(node) && (run === undefined || run === after);
    });
    const now = toStart.slice(0, STARTS_AT_MOST);
    let isFinished = now.length === toStart.length && toCancel.length <= CANCELS_AT_MOST;
    await inParallel(now, PARALLEL, async (wanted) => {
      const run = await this.#start(wanted, seen);
      // The one before has yet to end.
      if (run !== undefined && run === wanted.after) isFinished = false;
      else if (run !== undefined) this.saver.hasStarted(wanted.node);
    });
    if (ended === 'completed') await this.#forgetStart(seen);
    return isFinished;
  }

  /** Says on the Node that a run is over that has ended without a word; whatever it still writes is refused then. */
  async #close({ node: name, uid, run, startedAt }: Grant): Promise<void> {
    const change = (node: Node): NodeChange | undefined => {
      const mark = markToClose(node, { id: run, startedAt }, uid);
      if (mark === undefined) return undefined;
      return { annotations: { [ANNOTATION.UPDATE_RUN]: mark, ...withHistory(node) } };
    };
    await unlessGone(() => this.ports.nodes.change(name, change));
  }

  /** @returns its run; undefined = it has to wait for its config */
  async #start(
    wanted: WantedUpdate,
    { pool, observation, disruptionPolicies }: SeenPool,
  ): Promise<string | undefined> {
    const config = await this.#reference(wanted.config);
    // Its pool says so, too; a later step tries again.
    if (config === undefined) return undefined;
    const { node, uid, currentConfig: current, found, takesBack } = wanted;
    const currentConfig = current === undefined ? undefined : await this.#reference(current);
    const { name, uid: poolUid = '', generation: poolGeneration = 0 } = pool.metadata;
    return this.ports.nodeUpdates.start({
      ...{ node, uid, found, config, disruptionPolicies },
      ...{ pool: name, poolUid, poolGeneration },
      policy: observation.policy,
      ...(currentConfig === undefined ? {} : { currentConfig }),
      ...(takesBack === undefined ? {} : { takesBack }),
    });
  }

  /** Undefined = there is no such config any more. */
  async #reference(name: string): Promise<ConfigReference | undefined> {
    return unlessGone(() => this.#digests.reference(name));
  }

  /** A rollout that has ended is not started again by itself where its pool waits for a person. */
  async #forgetStart({ pool }: SeenPool): Promise<void> {
    const { name, annotations } = pool.metadata;
    const started = annotations?.[ANNOTATION.ROLLOUT_STARTED];
    if (started === undefined) return;
    const forget = (known: MachineConfigPool): Promise<PoolChange | undefined> => {
      const isSame = known.metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED] === started;
      return Promise.resolve(
        isSame ? { annotations: { [ANNOTATION.ROLLOUT_STARTED]: null } } : undefined,
      );
    };
    await unlessGone(() => this.ports.pools.change(name, forget));
  }
}
