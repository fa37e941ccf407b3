/** In systemd's words. */
export interface UnitState {
  /** `loaded`, `not-found`, `masked`, `error`, … */
  readonly load: string;
  /** `active`, `reloading`, `inactive`, `failed`, `activating`, `deactivating`, … */
  readonly active: string;
  /** `running`, `exited`, `dead`, `auto-restart`, … */
  readonly sub: string;
  /** `success`, `exit-code`, `signal`, `timeout`, … */
  readonly result: string;
  /** Empty for units that are no services. */
  readonly type: string;
  /** By systemd, since the last start by a person or by Slipway. */
  readonly restarts: number;
  /** Of the main process; 0 while it runs. */
  readonly exitStatus: number;
  /** When systemd restarts it; empty for units that are no services. */
  readonly restartPolicy: string;
  /** 0 while it is not active. */
  readonly upMs: number;
  /** systemd forgets this of unneeded units. */
  readonly hasRun: boolean;
}

export const UNIT_PROPERTIES = [
  'LoadState',
  'ActiveState',
  'SubState',
  'Result',
  'Type',
  'NRestarts',
  'ExecMainStatus',
  'Restart',
  'ActiveEnterTimestampMonotonic',
  'ExecMainExitTimestampMonotonic',
] as const;

type Property = (typeof UNIT_PROPERTIES)[number];

/**
 * Properties that a kind of unit lacks are empty or 0.
 *
 * @param nowMs - by the clock of systemd's times (`CLOCK_MONOTONIC`)
 */
export function parseUnitState(text: string, nowMs: number): UnitState {
  const values = new Map<string, string>();
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals > 0) values.set(line.slice(0, equals), line.slice(equals + 1).trim());
  }
  const word = (key: Property): string => values.get(key) ?? '';
  const number = (key: Property): number => Number.parseInt(word(key), 10) || 0;
  const isUp = word('ActiveState') === 'active';
  const since = number('ActiveEnterTimestampMonotonic') / 1000;
  return {
    load: word('LoadState'),
    active: word('ActiveState'),
    sub: word('SubState'),
    result: word('Result'),
    type: word('Type'),
    restarts: number('NRestarts'),
    exitStatus: number('ExecMainStatus'),
    restartPolicy: word('Restart'),
    hasRun: number('ExecMainExitTimestampMonotonic') > 0,
    upMs: isUp ? Math.max(0, Math.round(nowMs - since)) : 0,
  };
}
