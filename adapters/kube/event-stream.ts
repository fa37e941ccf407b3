/** The body of a watch: one JSON event per line. */

import { isRecord } from '../../core/is-record';
import type { IncomingMessage } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { readStatus, refusal, statusFrom } from './api-errors';
import type { Log } from './transport';

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

interface StreamOptions {
  /** The request in words. */
  readonly what: string;
  readonly log: Log;
  readonly opened?: (() => void) | undefined;
}

/** An unreadable event is logged and skipped. @throws what an answer or an event of an error means */
export async function* eventsOf<T>(
  reply: IncomingMessage,
  { what, log, opened }: StreamOptions,
): AsyncGenerator<WatchEvent<T>> {
  if (reply.statusCode !== 200) {
    let body = '';
    for await (const line of linesOf(reply)) body += line;
    throw refusal(what, readStatus(reply.statusCode ?? 0, body));
  }
  opened?.();
  for await (const line of linesOf(reply)) {
    const event = parseEvent(line);
    if (event === undefined) {
      log.warn({ what, sizeBytes: line.length }, 'skipped an unreadable watch event');
    } else if (event.type === 'ERROR') {
      throw refusal(what, statusFrom(event.object, 500));
    } else {
      yield event as WatchEvent<T>;
    }
  }
}

function parseEvent(
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

async function* linesOf(reply: IncomingMessage): AsyncGenerator<string> {
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
