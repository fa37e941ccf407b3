import { fail } from '../../core/errors';
import {
  askEndpoint,
  type EndpointAnswer,
  type EndpointOptions,
  messageIn,
} from './endpoint-request';

export type ConfigClientOptions = EndpointOptions;

export interface ConfigClient {
  /**
   * As the server sent them; the caller checks the digest.
   *
   * @throws `ConfigFetchFailed` when the server is unreachable or not ready, `ConfigForbidden` when
   *   it refuses this node or this config, `OrderOutdated` when the pool of the node has another target by now
   */
  fetch(name: string, signal?: AbortSignal): Promise<Buffer>;
}

/** A connection per fetch: a host fetches once per update. */
export function createConfigClient(options: ConfigClientOptions): ConfigClient {
  return {
    async fetch(name, signal) {
      const { host } = new URL(options.url);
      const path = `/host/configs/${encodeURIComponent(name)}`;
      const answer = await askEndpoint(path, options, { signal }).catch((error: unknown) => {
        if (signal?.aborted === true) throw error;
        throw Object.assign(
          fail('ConfigFetchFailed', `fetch ${name} from ${host}: ${textOf(error)}`, {
            config: name,
          }),
          { cause: error },
        );
      });
      if (answer.status === 200) return answer.body;
      throw refusalOf(name, host, answer);
    },
  };
}

function refusalOf(name: string, host: string, answer: EndpointAnswer): Error {
  const text = `fetch ${name} from ${host}: ${answer.status} ${messageIn(answer.body)}`.trim();
  const details = { config: name, status: answer.status };
  if (answer.status === 409) return fail('OrderOutdated', text, details);
  // 404 is transient: the server's cache may be behind the render controller.
  return answer.status === 401 || answer.status === 403
    ? fail('ConfigForbidden', text, details)
    : fail('ConfigFetchFailed', text, details);
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
