import type { Logger } from '../logging';

/** About every start and stop of every worker. */
const NOISE =
  /^(Worker state changed|No workflows registered|No Nexus services registered|Activity)/;

/** The SDK's lines, with those that help no operator at level `debug`. */
export function withoutNoise(log: Logger): Logger {
  const quiet = Object.create(log) as Logger;
  const unlessNoise =
    (level: 'info' | 'warn'): Logger['info'] =>
    (...args: unknown[]) => {
      const [fields, message] = args;
      const isNoise = typeof message === 'string' && NOISE.test(message);
      log[isNoise ? 'debug' : level](fields as object, String(message));
    };
  quiet.info = unlessNoise('info');
  quiet.warn = unlessNoise('warn');
  return quiet;
}
