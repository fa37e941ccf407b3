/** The log, as far as this folder writes it: pino's logger fits. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The port of `HostPorts` that says what went wrong and did not stop the work. */
export function telling(
  node: string,
  log: Pick<Log, 'warn'>,
): { readonly warn: (sentence: string) => void } {
  return { warn: (reason) => log.warn({ node, reason }, 'went on without') };
}
