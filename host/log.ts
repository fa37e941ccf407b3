/** The used part of a pino logger. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export function telling(
  node: string,
  log: Pick<Log, 'warn'>,
): { readonly warn: (sentence: string) => void } {
  return { warn: (reason) => log.warn({ node, reason }, 'continuing after a failure') };
}
