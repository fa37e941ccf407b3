import { failureName } from '../../core/errors';

/** @param absent - names of the failures that count as an object that is not there */
export async function unlessAbsent<T>(
  reading: Promise<T>,
  absent: readonly string[] = ['ObjectNotFound'],
): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (absent.includes(failureName(error) ?? '')) return undefined;
    throw error;
  }
}
