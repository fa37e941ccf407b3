/**
 * Whose turn it is to write a Node. A process that stood still may wake up with a step of an update
 * that ended long ago, and its own clock does not tell it so: the Node does. It carries the run that
 * wrote it last, and whether that run is over.
 *
 * Runs of updates of one node follow one another, because they share a workflow ID. So the one that
 * started later is the one that may write, and any step of it shows that the earlier one has ended. Which
 * one started later is said by the clock of the Temporal server, which may be set back, and may be another
 * server's: whoever is refused asks Temporal whether its run is the open one, and comes again with the mark
 * that stands against it.
 */

import { laterVersion } from '../later-version';
import { ANNOTATION } from '../names';

/** One run of the update workflow of a node. */
export interface UpdateRun {
  readonly id: string;
  /** When the server started it, RFC 3339 in UTC. */
  readonly startedAt: string;
}

/** `takes`: the first step that writes the Node. `gives back`: the last one; it may be repeated. */
export type TurnStep = 'takes' | 'gives back';

export type Turn =
  | { readonly ok: true; /** What the Node says from now on. */ readonly mark: string }
  | { readonly ok: false; readonly reason: string };

const OVER = 'over';
const MARK = /^v1\/([^/]+)\/([^/]+?)(\/over)?$/;
const MARK_VERSION = 1;

/** Why the mark of a Node is refused; undefined = it is of a version that is known, or nobody's. */
export function laterMark(node: string, mark: string | undefined): string | undefined {
  const [, version = '0'] = /^v(\d{1,9})\//.exec(mark ?? '') ?? [];
  const what = `annotation ${ANNOTATION.UPDATE_RUN} of node ${node}`;
  const remedy =
    'run that one again, or remove the annotation when no update of the node is under way';
  return laterVersion({ what, version: Number(version), remedy }, MARK_VERSION);
}

/**
 * @param mark - what the Node says; what cannot be read counts as nothing, because a person wrote it
 * @param outlived - a mark of which Temporal has shown that its run is not the open one of the node
 */
export function turnOf(
  mark: string | undefined,
  run: UpdateRun,
  step: TurnStep,
  outlived?: string,
): Turn {
  const known = readMark(mark);
  const another = known?.id === run.id || mark === outlived ? undefined : known;
  if (another !== undefined && another.startedMs > Date.parse(run.startedAt)) {
    return { ok: false, reason: `update run ${another.id} has begun since` };
  }
  const isOver = known?.id === run.id && known.isOver;
  // It would take a node that nobody gives back any more.
  if (isOver && step === 'takes') return { ok: false, reason: 'the update is over' };
  const words = [
    `v${MARK_VERSION}`,
    run.startedAt,
    run.id,
    ...(step === 'gives back' ? [OVER] : []),
  ];
  return { ok: true, mark: words.join('/') };
}

/** The run that wrote the Node last, and whether it has given the Node back; undefined = nobody can tell. */
export function lastRunOf(
  mark: string | undefined,
): { readonly id: string; readonly isOver: boolean } | undefined {
  return readMark(mark);
}

function readMark(
  mark: string | undefined,
): { readonly id: string; readonly startedMs: number; readonly isOver: boolean } | undefined {
  const [, startedAt, id, over] = MARK.exec(mark ?? '') ?? [];
  if (startedAt === undefined || id === undefined) return undefined;
  const startedMs = Date.parse(startedAt);
  return Number.isNaN(startedMs) ? undefined : { id, startedMs, isOver: over !== undefined };
}
