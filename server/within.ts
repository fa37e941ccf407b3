import { fail } from '../core/errors';

/** @throws (rejects) `ApiUnavailable` when it takes longer; the request goes on */
export function within<T>(ms: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const message = `the API server has not answered within ${ms / 1000} s`;
    timer = setTimeout(() => reject(fail('ApiUnavailable', message)), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
