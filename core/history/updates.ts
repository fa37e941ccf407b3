/** The history of a Node. */

import { ANNOTATION } from '../names';
import type { NodePhase } from '../node/lifecycle';
import { annotationOf, currentConfigOf, desiredConfigOf } from '../node/predicates';
import { lastRunOf, type MarkedRun, type UpdateRun } from '../node/turn';
import type { Node } from '../node/types';
import {
  historyWith,
  NODE_BOUNDS,
  withRecords,
  type PhaseSeconds,
  type UpdateRecord,
} from './record';

/** The update that writes the Node. */
interface WritingUpdate extends Pick<UpdateRecord, 'phase' | 'seconds' | 'takesBack'> {
  readonly config: string;
  readonly run: UpdateRun;
}

/** How it ends, in this write. */
export interface UpdateEnd {
  readonly outcome: 'updated' | 'failed' | 'cancelled';
  readonly reason?: string;
  /** Its host could not be taken back. */
  readonly isStuck?: boolean;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * The annotations that keep, in the history of the Node, an update that had marked it and was lost, and the end of the
 * one that writes. Of one that was cancelled before it took the node there is nothing to keep.
 *
 * @param update - whose mark is written now; absent = that of the lost one, which is closed
 */
export function withHistory(
  node: Node,
  update?: WritingUpdate,
  end?: UpdateEnd,
): Readonly<Record<string, string>> {
  const last = lastRunOf(annotationOf(node, ANNOTATION.UPDATE_RUN));
  const isTaken = last?.id === update?.run.id && last?.isOver === false;
  const isTold = end !== undefined && (end.outcome !== 'cancelled' || isTaken);
  return historyWith(node, NODE_BOUNDS, (records) =>
    withRecords(
      records,
      lostOn(node, last, update),
      update !== undefined && isTold ? recordOf(node, update, end) : undefined,
    ),
  );
}

function recordOf(
  node: Node,
  { run, config, phase, seconds, takesBack }: WritingUpdate,
  { outcome, reason, isStuck, now }: UpdateEnd,
): UpdateRecord {
  const from = currentConfigOf(node);
  return {
    ...{ run: run.id, config },
    ...(from === undefined || from === config ? {} : { from }),
    ...{ startedAt: run.startedAt, endedAt: now, outcome },
    ...(phase === undefined ? {} : { phase }),
    ...(reason === undefined ? {} : { reason }),
    ...(seconds === undefined ? {} : { seconds }),
    ...(isStuck === true ? { stuck: true } : {}),
    ...(takesBack === undefined ? {} : { takesBack }),
  };
}

function lostOn(
  node: Node,
  last: MarkedRun | undefined,
  update: WritingUpdate | undefined,
): UpdateRecord | undefined {
  if (last === undefined || last.isOver || last.id === update?.run.id) return undefined;
  const config = desiredConfigOf(node) ?? '';
  return { run: last.id, config, startedAt: last.startedAt, outcome: 'lost' };
}

/** In the order of their first time, tenths of a second. */
export function secondsByPhase(
  phases: readonly { readonly phase: NodePhase; readonly seconds: number }[],
): PhaseSeconds {
  const found: { [K in NodePhase]?: number } = {};
  for (const { phase, seconds } of phases) {
    found[phase] = Math.round(10 * ((found[phase] ?? 0) + Math.max(0, seconds))) / 10;
  }
  return found;
}
