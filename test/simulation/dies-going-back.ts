import type { Host } from './world/host';

/** Its worker dies once in the middle of the way back, before it asks for the boot. */
export function diesGoingBack(host: Host, forMs: number): void {
  let { files } = host;
  let isFirst = true;
  Object.defineProperty(host, 'files', {
    get: () => files,
    set: (wanted: string) => {
      if (!isFirst) {
        files = wanted;
        return;
      }
      isFirst = false;
      host.killWorker(forMs);
      throw new Error('the worker is dead');
    },
  });
}
