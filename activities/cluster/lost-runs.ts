import { ANNOTATION } from '../../core/names';
import { annotationOf } from '../../core/node/predicates';
import { lastRunOf } from '../../core/node/turn';
import type { Node } from '../../core/node/types';
import { servesHalfDone } from '../../core/rollout';
import type { RunningUpdates } from '../ports';
import { inParallel } from './in-parallel';

/** Requests to Temporal at once. */
const PARALLEL = 10;

/**
 * Which nodes that serve half done nobody works on. The Node names the run that took it; one that is over
 * never begins again, so each is asked for until it is.
 */
export class LostRuns {
  /** By node. */
  readonly #over = new Map<string, string>();

  constructor(private readonly updates: Pick<RunningUpdates, 'isOpen'>) {}

  /** @throws `TemporalUnavailable` */
  async askAbout(nodes: readonly Node[]): Promise<void> {
    const unknown = nodes.filter((node) => servesHalfDone(node) && !this.isLost(node));
    await inParallel(unknown, PARALLEL, async (node) => {
      const { name } = node.metadata;
      const run = lastRun(node)?.id;
      if (run === undefined || (await this.updates.isOpen(name, run))) return;
      this.#over.set(name, run);
    });
  }

  /** As far as it was asked; a node without the name of a run may be worked on. */
  isLost(node: Node): boolean {
    const run = lastRun(node);
    if (run === undefined || !servesHalfDone(node)) return false;
    return run.isOver || this.#over.get(node.metadata.name) === run.id;
  }
}

function lastRun(node: Node): ReturnType<typeof lastRunOf> {
  return lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
}
