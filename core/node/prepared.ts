/** What an update says on the MachineConfigNode once its host is prepared: it waits for its grant. */

import { ANNOTATION } from '../names';
import { lastRunOf, markOf, type UpdateRun } from './turn';
import type { MachineConfigNode } from './types';

export interface Prepared {
  /** Run ID of the update. */
  readonly run: string;
  /** RFC 3339, by the clock of Temporal. */
  readonly startedAt: string;
  readonly config: string;
  /** Its plan takes nothing out of service. */
  readonly serves: boolean;
}

const SERVES = 'serves';

/** Value of the annotation `slipway.dev/prepared`: the mark of the run, the config, and `serves` where that is so. */
export function preparedMark(run: UpdateRun, config: string, serves: boolean): string {
  return [markOf(run), config, ...(serves ? [SERVES] : [])].join(' ');
}

/** Undefined = no update has said so, or the annotation is not readable. */
export function preparedOf(known: MachineConfigNode | undefined): Prepared | undefined {
  const [mark, config, serves] = (known?.metadata.annotations?.[ANNOTATION.PREPARED] ?? '').split(
    ' ',
  );
  const run = lastRunOf(mark);
  if (run === undefined || !config || (serves !== undefined && serves !== SERVES)) return undefined;
  return { run: run.id, startedAt: run.startedAt, config, serves: serves === SERVES };
}
