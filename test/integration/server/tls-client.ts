/** Requests to the Machine Config Server as a machine sends them: over TLS, each on a new connection. */

import { readFile } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';
import { buffer } from 'node:stream/consumers';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface MachineRequest {
  readonly url: string;
  readonly caFile: string;
  readonly token?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function ask(options: MachineRequest): Promise<Answer> {
  const { url, caFile, token, method = 'GET', headers = {} } = options;
  const ca = await readFile(caFile);
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      { ca, method, agent: false, headers: { ...authorization, ...headers } },
      (response) => {
        buffer(response).then((body) => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        }, reject);
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}
