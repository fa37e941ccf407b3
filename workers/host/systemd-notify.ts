import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../core/errors';
import type { Logger } from '../../process/logging';

const run = promisify(execFile);

type Environment = Readonly<Record<string, string | undefined>>;

/** systemd waits much longer for the start of a service. */
const TIMEOUT_MS = 10_000;

/** `sd_notify(3)`, through systemd's own program. */
export interface SystemdNotifier {
  /** With a sentence for `systemctl status`. */
  ready(status: string): Promise<void>;
  status(status: string): Promise<void>;
  /** Ends the watchdog messages. */
  close(): void;
}

/**
 * Does nothing outside a service with `Type=notify`. Node has no datagram sockets, and a process
 * every two minutes costs 11 ms of CPU. A failure is only logged.
 *
 * With `WatchdogSec=` the event loop sends a sign of life, twice as often as systemd wants it.
 */
export function createNotifier(
  environment: Environment,
  log: Logger,
  command = 'systemd-notify',
): SystemdNotifier {
  const socket = environment['NOTIFY_SOCKET'];
  if (socket === undefined || socket === '') {
    const nothing = async (): Promise<void> => undefined;
    return { ready: nothing, status: nothing, close: () => undefined };
  }
  const env = { PATH: environment['PATH'], NOTIFY_SOCKET: socket };
  const tell = async (...words: readonly string[]): Promise<void> => {
    try {
      // The child is gone before systemd looks for its service.
      await run(command, [...words, `--pid=${process.pid}`], { env, timeout: TIMEOUT_MS });
    } catch (error) {
      log.warn(
        { reason: messageOf(error) },
        'systemd cannot be notified of the state of this service',
      );
    }
  };
  const everyMs = watchdogMs(environment);
  const timer =
    everyMs === undefined ? undefined : setInterval(() => void tell('WATCHDOG=1'), everyMs);
  timer?.unref();
  return {
    ready: (status) => tell('--ready', `--status=${status}`),
    status: (status) => tell(`--status=${status}`),
    close: () => clearInterval(timer),
  };
}

/** Half of systemd's limit; undefined = none, or for another process. */
export function watchdogMs(environment: Environment): number | undefined {
  const microseconds = Number(environment['WATCHDOG_USEC'] ?? '');
  const pid = environment['WATCHDOG_PID'];
  const isOurs = pid === undefined || pid === '' || Number(pid) === process.pid;
  if (!isOurs || !Number.isFinite(microseconds) || microseconds <= 0) return undefined;
  return Math.max(1_000, Math.floor(microseconds / 2_000));
}
