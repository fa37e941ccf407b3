/** Of one wait, on a busy machine. */
export const PATIENCE_MS = 150_000;

/**
 * @param what - for the error, as a sentence: `worker-1 has booted`
 * @param patienceMs - for unusually slow waits
 */
export async function withDeadline<T>(
  what: string,
  promise: Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not seen in ${patienceMs / 1000} s: ${what}`)),
      patienceMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
