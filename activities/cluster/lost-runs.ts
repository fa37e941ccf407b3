import { ANNOTATION } from '../../core/names';
import { annotationOf } from '../../core/node/predicates';
import { lastRunOf } from '../../core/node/turn';
import type { Node } from '../../core/node/types';
import { servesHalfDone } from '../../core/rollout';
import type { RunningUpdates } from './ports';
import { inParallel } from './in-parallel';

const PARALLEL = 10;

/**
 * Finds lost updates. Temporal is asked about the run that took the Node, until it is over. A Node
 * without a run, as MCO or a person leave it, is taken while it has any open update.
 */
export class LostRuns {
  readonly #over = new Map<string, string>();
  /** Nodes without a run, and without an update. */
  readonly #idle = new Set<string>();

  constructor(private readonly updates: Pick<RunningUpdates, 'isOpen' | 'isRunning'>) {}

  /** @throws `TemporalUnavailable` */
  async askAbout(nodes: readonly Node[]): Promise<void> {
    const unknown = nodes.filter((node) => servesHalfDone(node) && !this.isLost(node));
    await inParallel(unknown, PARALLEL, async (node) => {
      const { name } = node.metadata;
      const run = lastRun(node)?.id;
      if (run !== undefined) {
        if (!(await this.updates.isOpen(name, run))) this.#over.set(name, run);
      } else if (!(await this.updates.isRunning(name))) this.#idle.add(name);
    });
  }

  /** As of the last question. */
  isLost(node: Node): boolean {
    const run = lastRun(node);
    if (!servesHalfDone(node)) return false;
    if (run === undefined) return this.#idle.has(node.metadata.name);
    return run.isOver || this.#over.get(node.metadata.name) === run.id;
  }
}

function lastRun(node: Node): ReturnType<typeof lastRunOf> {
  return lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
}
