import { readFile } from 'node:fs/promises';

interface ServedRequest {
  readonly method: string;
  readonly uri: string;
  readonly status: number;
  /** As written to the client. */
  readonly bytes: number;
}

/** A layer or a config. */
export interface ServedBlob {
  readonly digest: string;
  readonly bytes: number;
}

/** From its JSON log, in order. */
export async function readAccessLog(logFile: string): Promise<readonly ServedRequest[]> {
  const text = await readFile(logFile, 'utf8');
  return text.split('\n').flatMap((line) => {
    const request = parseLine(line);
    return request === undefined ? [] : [request];
  });
}

export function servedBlobs(requests: readonly ServedRequest[]): readonly ServedBlob[] {
  return requests.flatMap(({ method, uri, status, bytes }) => {
    const digest = /\/blobs\/(sha256:[0-9a-f]{64})/.exec(uri)?.[1];
    if (method !== 'GET' || digest === undefined || status >= 300) return [];
    return [{ digest, bytes }];
  });
}

/** The cost of a pull. */
export function bytesOf(blobs: readonly ServedBlob[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Lines of other programs are not JSON. */
function parseLine(line: string): ServedRequest | undefined {
  if (!line.startsWith('{')) return undefined;
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined; // the last line, half written
  }
  if (fields['msg'] !== 'response completed') return undefined;
  return {
    method: String(fields['http.request.method']),
    uri: String(fields['http.request.uri']),
    status: Number(fields['http.response.status']),
    bytes: Number(fields['http.response.written']),
  };
}
