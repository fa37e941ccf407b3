/** The body of a watch: one JSON event per line. */

import { isRecord } from '../../core/is-record';
import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

export function parseEvent(
  line: string,
): { readonly type: WatchEvent<unknown>['type'] | 'ERROR'; readonly object: unknown } | undefined {
  try {
    const event: unknown = JSON.parse(line);
    if (!isRecord(event) || !isRecord(event['object'])) return undefined;
    const type = event['type'];
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
      case 'DELETED':
      case 'BOOKMARK':
      case 'ERROR':
        return { type, object: event['object'] };
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}

export async function* linesOf(reply: IncomingMessage): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of reply) {
    rest += decoder.write(chunk as Buffer);
    let end = rest.indexOf('\n');
    while (end !== -1) {
      const line = rest.slice(0, end);
      rest = rest.slice(end + 1);
      if (line !== '') yield line;
      end = rest.indexOf('\n');
    }
  }
  rest += decoder.end();
  if (rest !== '') yield rest;
}
