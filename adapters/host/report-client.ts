import type { DriftAnswer, DriftReport } from '../../core/drift';
import { fail, messageOf } from '../../core/errors';
import { isSignedText, type SignedText } from '../../core/orders';
import { askEndpoint, type EndpointOptions, messageIn } from './endpoint-request';

export interface ReportClient {
  /**
   * The answer is what the pool of the host wants.
   *
   * @throws `ConfigFetchFailed` when the server is unreachable, not ready or called too often
   *   (`details.retryAfter`, seconds), `ConfigForbidden` when it refuses this host or its report
   */
  report(report: DriftReport, signal?: AbortSignal): Promise<ReportAnswer>;
}

export interface ReportAnswer {
  readonly answer: DriftAnswer;
  /** PEM: the authorities of the server; absent = it did not say. */
  readonly serverAuthority?: string;
  /** What rolls the keys of orders, from anybody. */
  readonly orderKeys: readonly SignedText[];
}

export function createReportClient(options: EndpointOptions): ReportClient {
  const host = new URL(options.url).host;
  return {
    async report(report, signal) {
      const answer = await askEndpoint('/host/report', options, { signal, put: report }).catch(
        (error: unknown) => {
          if (signal?.aborted === true) throw error;
          throw Object.assign(fail('ConfigFetchFailed', `report to ${host}: ${messageOf(error)}`), {
            cause: error,
          });
        },
      );
      if (answer.status === 200) return readAnswer(answer.body, host);
      const text = `report to ${host}: ${answer.status} ${messageIn(answer.body)}`.trim();
      const { retryAfter } = answer;
      throw [400, 401, 403, 404, 413].includes(answer.status)
        ? fail('ConfigForbidden', text)
        : fail('ConfigFetchFailed', text, retryAfter === undefined ? undefined : { retryAfter });
    },
  };
}

/** An invalid answer changes nothing on disk. */
function readAnswer(body: Buffer, host: string): ReportAnswer {
  const parsed: unknown = JSON.parse(body.toString('utf8'));
  const drift = field(parsed, 'drift');
  const [mode, limit, intervalSeconds] = ['mode', 'limit', 'intervalSeconds'].map((key) =>
    field(drift, key),
  );
  const policies = field(parsed, 'disruptionPolicies');
  const mayDisturb = field(parsed, 'mayDisturb');
  if (
    (mode !== 'Report' && mode !== 'Repair') ||
    typeof limit !== 'number' ||
    typeof intervalSeconds !== 'number' ||
    typeof policies !== 'object' ||
    policies === null ||
    typeof mayDisturb !== 'boolean'
  ) {
    throw fail('ConfigFetchFailed', `report to ${host}: the answer is not one of the endpoint's`);
  }
  const serverAuthority = field(parsed, 'serverAuthority');
  const orderKeys = field(parsed, 'orderKeys');
  return {
    answer: { drift: { mode, limit, intervalSeconds }, disruptionPolicies: policies, mayDisturb },
    ...(typeof serverAuthority === 'string' ? { serverAuthority } : {}),
    orderKeys: Array.isArray(orderKeys) ? orderKeys.filter(isSignedText) : [],
  };
}

function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined;
}
