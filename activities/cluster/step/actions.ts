import { failureName } from '../../../core/errors';
import { ANNOTATION } from '../../../core/names';
import { annotationOf } from '../../../core/node/predicates';
import { lastRunOf, overMarkOf } from '../../../core/node/turn';
import type { Node } from '../../../core/node/types';
import { isCordonedBySlipway, isSameNode } from '../../../core/rollout';
import type { Decision } from '../../../core/rollout/decide';
import type { Grant } from '../../../core/rollout/pool-rollout';
import type { WantedUpdate } from '../../../core/rollout/running';
import type { ConfigReference } from '../../../workflows/contracts/host';
import { ConfigDigests } from '../config-digests';
import { inParallel } from '../../../core/concurrency-limit';
import type { NodeChange } from '../ports';
import type { SeenPool } from './look';
import type { RequestSaver } from './request-saver';
import type { StepPorts } from './ports';

/** Grants never wait behind starts, and starts take turns with grants. */
const STARTS_AT_MOST = 8;
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
   * @param running - nodes with an update, as far as is known
   * @returns whether nothing is left to be started
   */
  async follow(
    { close, cancel, start, done }: Decision,
    running: ReadonlySet<string>,
    seen: SeenPool,
  ): Promise<boolean> {
    const { nodeUpdates } = this.ports;
    await inParallel(close, PARALLEL, (grant) => this.#close(grant));
    await inParallel(cancel, PARALLEL, (update) => nodeUpdates.cancel(update));
    const toStart = start.filter(({ node }) => !running.has(node) && !this.saver.wasStarted(node));
    const now = toStart.slice(0, STARTS_AT_MOST);
    await inParallel(now, PARALLEL, (wanted) => this.#start(wanted, seen));
    if (done) await this.#forgetStart(seen);
    return now.length === toStart.length;
  }

  /** Says on the Node that a run is over that has ended without a word; whatever it still writes is refused then. */
  async #close({ node: name, uid, run, startedAt }: Grant): Promise<void> {
    const change = (node: Node): NodeChange | undefined => {
      if (!isSameNode(node, uid) || isCordonedBySlipway(node)) return undefined;
      const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
      const isSaid = last?.id === run && last.isOver;
      const isTakenByAnother = last !== undefined && last.id !== run && !last.isOver;
      if (isSaid || isTakenByAnother) return undefined;
      return { annotations: { [ANNOTATION.UPDATE_RUN]: overMarkOf({ id: run, startedAt }) } };
    };
    await unlessGone(() => this.ports.nodes.change(name, change));
  }

  async #start(wanted: WantedUpdate, { pool, observation, disruptionPolicies }: SeenPool) {
    const config = await this.#reference(wanted.config);
    // Its pool says so, too; a later step tries again.
    if (config === undefined) return;
    const { node, uid, currentConfig: current, found, takesBack } = wanted;
    const currentConfig = current === undefined ? undefined : await this.#reference(current);
    await this.ports.nodeUpdates.start({
      ...{ node, uid, found, pool: pool.metadata.name, config, disruptionPolicies },
      policy: observation.policy,
      ...(currentConfig === undefined ? {} : { currentConfig }),
      ...(takesBack === undefined ? {} : { takesBack }),
    });
    this.saver.hasStarted(node);
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
    await this.ports.pools.change(name, (known) => {
      const isSame = known.metadata.annotations?.[ANNOTATION.ROLLOUT_STARTED] === started;
      return Promise.resolve(
        isSame ? { annotations: { [ANNOTATION.ROLLOUT_STARTED]: null } } : undefined,
      );
    });
  }
}

async function unlessGone<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (failureName(error) !== 'ObjectNotFound') throw error;
    return undefined;
  }
}
