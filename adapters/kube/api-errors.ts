import { isRecord } from '../../core/is-record';
import { fail, failureName, messageOf, type DomainError } from '../../core/errors';

export interface ApiStatus {
  readonly code: number;
  readonly reason?: string;
  readonly message?: string;
  /** An eviction names its disruption budget in `details.causes`. */
  readonly causes: readonly { readonly reason?: string; readonly message?: string }[];
  readonly retryAfterSeconds?: number;
}

/** Accepts other answers, as proxies send. */
export function readStatus(code: number, body: string, retryAfter?: string): ApiStatus {
  const seconds = Number(retryAfter);
  const wait = retryAfter !== undefined && seconds >= 0 ? { retryAfterSeconds: seconds } : {};
  return { ...statusFrom(parse(body), code), ...wait };
}

export function statusFrom(value: unknown, code: number): ApiStatus {
  const status = isRecord(value) ? value : {};
  const details = isRecord(status['details']) ? status['details'] : {};
  const causes = Array.isArray(details['causes']) ? details['causes'].filter(isRecord) : [];
  return {
    code: typeof status['code'] === 'number' ? status['code'] : code,
    ...text('reason', status['reason']),
    ...text('message', status['message']),
    causes: causes.map((cause) => ({
      ...text('reason', cause['reason']),
      ...text('message', cause['message']),
    })),
  };
}

/**
 * `details` carry `code` and the API's `reason`.
 *
 * 401 and 403 are transient: a starting API server refuses everything until its roles are loaded.
 *
 * @param what - the request in words: `patch Node worker-1`
 */
export function refusal(what: string, status: ApiStatus): DomainError {
  const answer = status.message ?? `the API server answered ${status.code}`;
  const said =
    status.code === 401
      ? `${answer}: the API server does not accept the credentials; check the user of the kubeconfig`
      : answer;
  const details = { code: status.code, reason: status.reason ?? '' };
  const message = `${what}: ${said}`;
  if (status.code === 404) return fail('ObjectNotFound', message, details);
  if (status.code === 409) return fail('Conflict', message, details);
  if (status.code === 401 || status.code === 403) return fail('ApiForbidden', message, details);
  // After 410 the caller starts the watch or list again.
  if (status.code === 410 || status.code === 429 || status.code >= 500) {
    return fail('ApiUnavailable', message, details);
  }
  return fail('ApiRefused', message, details);
}

/** No answer: refused connection, reset, timeout, broken TLS. */
export function unreachable(what: string, cause: string): DomainError {
  return fail('ApiUnavailable', `${what}: ${cause}`, { code: 0, reason: 'Unreachable' });
}

/** 0 = no answer; undefined = another error. */
export function codeOf(error: unknown): number | undefined {
  if (!isRecord(error) || !isRecord(error['details'])) return undefined;
  const code = error['details']['code'];
  return typeof code === 'number' ? code : undefined;
}

/**
 * What the API server says against this one write, by its rules, a webhook or a quota; undefined =
 * nothing: it is away, or the object has changed since. Without the address of the server's own end
 * of a connection, so that a repeated answer is the same.
 */
export function refusalText(error: unknown): string | undefined {
  const message = messageOf(error);
  const code = codeOf(error);
  const isRefused = failureName(error) === 'ApiRefused' || code === 403;
  const isWebhook = code === 500 && message.includes('calling webhook');
  return isRefused || isWebhook ? message.replaceAll(/\S+->/g, '') : undefined;
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    // A proxy's HTML page.
    return undefined;
  }
}

function text<K extends string>(key: K, value: unknown): Partial<Record<K, string>> {
  return typeof value === 'string' && value !== ''
    ? ({ [key]: value } as Partial<Record<K, string>>)
    : {};
}
