/** Hosts that wait for another bundle, as host workers do, in their own process. */

import { setTimeout as delay } from 'node:timers/promises';
import { createBundleClient } from '../adapters/host';
import { failureName, messageOf } from '../core/errors';
import type { CredentialFiles } from '../tools/cluster';

export type HostsQuestion =
  | {
      readonly start: {
        readonly url: string;
        readonly hosts: readonly CredentialFiles[];
        /** In which they begin, one after the other. */
        readonly withinMs: number;
      };
    }
  | 'received';

export interface HostsAnswer {
  /** By digest: when each host was given it, ms since 1970. */
  readonly received: Readonly<Record<string, readonly number[]>>;
  /** Requests without an answer, by the reason. */
  readonly failures: Readonly<Record<string, number>>;
}

/** As `host/bundle` waits after a refused request. */
const RETRY_MS = 2_000;

const received: Record<string, number[]> = {};
const failures: Record<string, number> = {};

async function follow(url: string, files: CredentialFiles): Promise<void> {
  const { certFile: certificateFile, keyFile, caFile: authorityFile } = files;
  const client = createBundleClient({ url, certificateFile, keyFile, authorityFile });
  let given: string | undefined;
  for (;;) {
    try {
      const bundle = await client.ask(given === undefined ? {} : { digest: given, given });
      if (bundle === undefined) continue;
      given = bundle.digest;
      (received[given] ??= []).push(Date.now());
      // A host writes it, and spreads its report.
      await delay(500 * Math.random());
    } catch (error) {
      if (failureName(error) === undefined) throw error;
      const reason = messageOf(error).replace(/^.*?: /, '');
      failures[reason] = (failures[reason] ?? 0) + 1;
      await delay(RETRY_MS * (0.5 + 0.5 * Math.random()));
    }
  }
}

async function answer(question: HostsQuestion): Promise<void> {
  if (question !== 'received') {
    const { url, hosts, withinMs } = question.start;
    for (const files of hosts) {
      void follow(url, files);
      await delay(withinMs / hosts.length);
    }
  }
  process.send?.({ received, failures } satisfies HostsAnswer);
}

process.on('message', (question: HostsQuestion) => void answer(question));
