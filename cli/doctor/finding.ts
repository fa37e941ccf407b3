/** What `slipway doctor` says of one object. */
export interface Finding {
  /** `problem`: something does not work; `warning`: it may not, or not for long. */
  readonly level: 'ok' | 'warning' | 'problem';
  /** `deployment slipway/slipway-server` */
  readonly object: string;
  readonly says: string;
  /** The command, or the page, that mends it. */
  readonly mend?: string;
}

export function ok(object: string, says: string): Finding {
  return { level: 'ok', object, says };
}

export function problem(object: string, says: string, mend: string): Finding {
  return { level: 'problem', object, says, mend };
}

export function warning(object: string, says: string, mend: string): Finding {
  return { level: 'warning', object, says, mend };
}

/** Its findings, or one that says that all is well. */
export function orOk(
  findings: readonly Finding[],
  object: string,
  says: string,
): readonly Finding[] {
  return findings.length === 0 ? [ok(object, says)] : findings;
}
