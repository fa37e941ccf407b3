/**
 * The API server's audit log of Slipway's requests: which process removed a cordon or a pod (I3),
 * and which wrote which version of a Node.
 */

import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isPersonsCordon } from './cordons';
import type { NodeChange } from './observed';
import type { RolloutRecord } from './record';
import type { Sight } from './sight';

const SLIPWAY = /^slipway-/;
/** Each line begins with it. */
const BEGINNING = '{"kind":"Event","apiVersion":"audit.k8s.io/';
const LOOK_EVERY_MS = 500;
const CHUNK = 1 << 20;

/** The fields that are read. */
interface AuditEvent {
  readonly stage?: string;
  readonly verb?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly responseObject?: { readonly metadata?: { readonly resourceVersion?: string } };
}

/**
 * An API server that is killed leaves half a line, and the next one writes on behind it. Only the
 * first event is lost.
 *
 * @throws SyntaxError when it is neither a line nor half of one
 */
function parseEvent(text: string): AuditEvent | undefined {
  try {
    return JSON.parse(text) as AuditEvent;
  } catch (error) {
    const begins = text.lastIndexOf(BEGINNING);
    if (begins > 0) return JSON.parse(text.slice(begins)) as AuditEvent;
    if (BEGINNING.startsWith(text.slice(0, BEGINNING.length))) return undefined;
    throw error;
  }
}

/** Compares the log with the watch; either may come first. */
export class AuditJudge {
  /** By the version of the Node that shows it. */
  readonly #removed = new Map<string, NodeChange>();
  #judged = 0;

  constructor(private readonly record: RolloutRecord) {}

  line(text: string): void {
    const event = parseEvent(text);
    if (event === undefined) return;
    const user = event.user?.username ?? '';
    const code = event.responseStatus?.code ?? 0;
    if (!SLIPWAY.test(user) || event.stage !== 'ResponseComplete' || code >= 300) return;
    const { resource, subresource, namespace, name } = event.objectRef ?? {};
    if (resource === 'pods' && subresource === undefined && event.verb?.startsWith('delete')) {
      this.record.report(
        'I3',
        `pod ${namespace}/${name}`,
        `${user} deleted it without an eviction`,
      );
    }
    const version = event.responseObject?.metadata?.resourceVersion;
    if (resource === 'nodes' && version !== undefined) this.record.nodeWritten(version, user);
    this.judge();
  }

  judge(): void {
    for (const change of this.record.changes.slice(this.#judged)) {
      const { node, previous } = change;
      if (previous !== undefined && isPersonsCordon(previous) && !node.unschedulable) {
        this.#removed.set(node.resourceVersion, change);
      }
    }
    this.#judged = this.record.changes.length;
    for (const [version, { node, atMs }] of this.#removed) {
      const writer = this.record.writerOf(version);
      if (writer === undefined) continue;
      this.#removed.delete(version);
      this.record.report('I3', node.name, `${writer} removed a person's cordon`, atMs);
    }
  }
}

/**
 * From the end of the log on, until the signal aborts.
 *
 * @param sight - looks at the end of the log: everything that was written until then is read
 */
export async function watchAudit(
  file: string,
  record: RolloutRecord,
  sight: Sight,
  signal: AbortSignal,
): Promise<void> {
  const judge = new AuditJudge(record);
  const log = await open(file, 'r');
  // The watch may come after the last line of the log.
  const stop = record.onChange(() => {
    judge.judge();
  });
  try {
    const buffer = Buffer.alloc(CHUNK);
    let at = (await log.stat()).size;
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead } = await log.read(buffer, 0, CHUNK, at);
      at += bytesRead;
      if (bytesRead === 0) {
        sight.looked(performance.now());
        sight.lost(performance.now());
        // The rest of the log is judged, too.
        if (signal.aborted) break;
        await delay(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
        continue;
      }
      rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const end = rest.lastIndexOf('\n');
      for (const line of rest
        .subarray(0, end + 1)
        .toString()
        .split('\n')) {
        if (line !== '') judge.line(line);
      }
      rest = Buffer.from(rest.subarray(end + 1));
    }
  } finally {
    stop();
    await log.close();
  }
}
