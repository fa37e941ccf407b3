/** Without the line end. */
export type Report = (line: string) => void;

export function reportOnStderr(line: string): void {
  process.stderr.write(`slipway: ${line}\n`);
}

/** `8 s`, `2 min 59 s`. */
function formatElapsed(elapsedMs: number): string {
  const seconds = Math.round(elapsedMs / 1000);
  const minutes = Math.floor(seconds / 60);
  return minutes === 0 ? `${seconds} s` : `${minutes} min ${seconds % 60} s`;
}

const REMINDER_MS = 15_000;

/**
 * Reports start, end, and every 15 seconds between. Does not report a failure: the caller knows
 * what happens next.
 */
export async function withProgress<T>(
  report: Report,
  doing: string,
  done: string,
  work: () => Promise<T>,
): Promise<T> {
  const started = performance.now();
  report(`${doing} …`);
  const reminder = setInterval(() => {
    report(`still ${doing} (${formatElapsed(performance.now() - started)})`);
  }, REMINDER_MS);
  try {
    const result = await work();
    report(`${done} in ${formatElapsed(performance.now() - started)}`);
    return result;
  } finally {
    clearInterval(reminder);
  }
}
