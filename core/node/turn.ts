/**
 * Which run of an update may write a Node, because a process that was suspended may go on with a
 * step of an update that ended long ago. The Node names the run that wrote it last, and whether
 * that run is over.
 *
 * Updates of one node share a workflow ID, so the run that started later may write, and earlier
 * runs have ended. The clock of the Temporal server may be set back: a refused run asks Temporal
 * whether it is the open one, and retries with the mark that refused it.
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

type Turn =
  | { readonly ok: true; /** The new mark of the Node. */ readonly mark: string }
  | { readonly ok: false; readonly reason: string };

const OVER = 'over';
const MARK = /^v1\/([^/]+)\/([^/]+?)(\/over)?$/;
const MARK_VERSION = 1;

/** Why the mark of a Node is refused; undefined = it is of a version that is known, or nobody's. */
export function laterMark(node: string, mark: string | undefined): string | undefined {
  const [, version = '0'] = /^v(\d{1,9})\//.exec(mark ?? '') ?? [];
  const what = `annotation ${ANNOTATION.UPDATE_RUN} of node ${node}`;
  const remedy =
    'install that later Slipway again, or remove the annotation when no update of the node is under way';
  return laterVersion({ what, version: Number(version), remedy }, MARK_VERSION);
}

/**
 * @param mark - of the Node; an unreadable one, written by a person, counts as absent
 * @param outlived - a mark whose run is not open, according to Temporal
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
  // No later step would return the node to service.
  if (isOver && step === 'takes') return { ok: false, reason: 'the update is over' };
  return { ok: true, mark: step === 'gives back' ? overMarkOf(run) : markOf(run) };
}

/** Names a run on an object. */
export function markOf({ id, startedAt }: UpdateRun): string {
  return [`v${MARK_VERSION}`, startedAt, id].join('/');
}

/** Of a run that Temporal calls closed and that has not said so: whatever it still writes is refused. */
export function overMarkOf(run: UpdateRun): string {
  return `${markOf(run)}/${OVER}`;
}

/** The run that a mark names. */
export interface MarkedRun extends UpdateRun {
  readonly startedMs: number;
  readonly isOver: boolean;
}

/** The run that wrote the Node last, and whether it is over; undefined = unknown. */
export function lastRunOf(mark: string | undefined): MarkedRun | undefined {
  return readMark(mark);
}

function readMark(mark: string | undefined): MarkedRun | undefined {
  const [, startedAt, id, over] = MARK.exec(mark ?? '') ?? [];
  if (startedAt === undefined || id === undefined) return undefined;
  const startedMs = Date.parse(startedAt);
  return Number.isNaN(startedMs)
    ? undefined
    : { id, startedAt, startedMs, isOver: over !== undefined };
}
