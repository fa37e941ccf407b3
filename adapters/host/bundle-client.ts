import { fail, messageOf } from '../../core/errors';
import {
  ALL_REGISTRIES,
  type BundleFile,
  type BundleReport,
  type HostBundle,
  isBundlePath,
  PUBLIC_MODE,
  sealed,
  SECRET_MODE,
} from '../../core/host-bundle';
import { isRecord } from '../../core/is-record';
import { askEndpoint, type EndpointOptions, messageIn } from './endpoint-request';

export interface BundleClient {
  /**
   * Tells which bundle is on the disk, and waits for another than the given one: minutes.
   *
   * @returns undefined when there is none yet: ask again
   * @throws `ConfigFetchFailed` when the server is unreachable, not ready or called too often
   *   (`details.retryAfter`, seconds), `ConfigForbidden` when it refuses this host or its report
   */
  ask(report: BundleReport, signal?: AbortSignal): Promise<HostBundle | undefined>;
}

/** Longer than an answer waits. */
const SILENCE_MS = 300_000;

export function createBundleClient(options: EndpointOptions): BundleClient {
  return {
    async ask(report, signal) {
      const { host } = new URL(options.url);
      const asked = { signal, put: report, timeoutMs: SILENCE_MS };
      const answer = await askEndpoint('/host/bundle', options, asked).catch((error: unknown) => {
        if (signal?.aborted === true) throw error;
        const text = `ask ${host} for the bundle: ${messageOf(error)}`;
        throw Object.assign(fail('ConfigFetchFailed', text), { cause: error });
      });
      if (answer.status === 204) return undefined;
      if (answer.status === 200) return readBundle(answer.body, host);
      const text = `ask ${host} for the bundle: ${answer.status} ${messageIn(answer.body)}`.trim();
      const { retryAfter } = answer;
      throw [400, 401, 403, 413].includes(answer.status)
        ? fail('ConfigForbidden', text)
        : fail('ConfigFetchFailed', text, retryAfter === undefined ? undefined : { retryAfter });
    },
  };
}

/** Nothing of an answer with another path, another mode or another digest is written. */
function readBundle(body: Buffer, host: string): HostBundle {
  const refuse = (says: string): never => {
    throw fail('ConfigFetchFailed', `bundle from ${host}: ${says}; nothing was changed`);
  };
  const parsed = parsedJson(body);
  if (!isRecord(parsed)) return refuse('it is not JSON');
  const { pool, keeps, digest, apiServerAuthority } = parsed;
  const files = Array.isArray(parsed['files']) ? (parsed['files'] as readonly unknown[]) : [];
  const read = files.flatMap((file) => readFile(file) ?? []);
  if (typeof pool !== 'string' || read.length !== files.length)
    return refuse('it has a wrong file');
  if (!isPaths(keeps)) return refuse('it has a wrong path');
  const authority = typeof apiServerAuthority === 'string' ? { apiServerAuthority } : {};
  const bundle = sealed({ pool, files: read, keeps, ...authority });
  return bundle.digest === digest ? bundle : refuse('its digest is another one');
}

function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    // The error would quote the body.
    return undefined;
  }
}

function readFile(value: unknown): BundleFile | undefined {
  if (!isRecord(value)) return undefined;
  const { path, mode, content } = value;
  if (typeof path !== 'string' || !isBundlePath(path) || typeof content !== 'string')
    return undefined;
  return mode === PUBLIC_MODE || mode === SECRET_MODE ? { path, mode, content } : undefined;
}

function isPaths(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    value.every(
      (path) => path === ALL_REGISTRIES || (typeof path === 'string' && isBundlePath(path)),
    )
  );
}
