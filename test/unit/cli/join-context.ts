/** A cluster with pools and join tokens in memory, and the output of the command line. */

import type { CliCluster, CliContext, ServerFacts } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { fail } from '../../../core/errors';
import type { JoinTokenRecord, StoredJoinToken } from '../../../core/join';

export const NOW = Date.parse('2030-01-01T00:00:00Z');

interface JoinContext {
  readonly context: CliContext;
  readonly tokens: StoredJoinToken[];
  readonly asked: string[];
  out(): string;
  err(): string;
}

export interface GivenCluster {
  readonly tokens?: readonly StoredJoinToken[];
  readonly pools?: readonly string[];
  readonly facts?: ServerFacts;
  /** Number of creations that fail because the ID exists. */
  readonly clashes?: number;
  readonly pruneFails?: boolean;
}

export function aContext(given: GivenCluster = {}): JoinContext {
  const tokens = [...(given.tokens ?? [])];
  const asked: string[] = [];
  let clashes = given.clashes ?? 0;
  const cluster: Partial<CliCluster> = {
    poolNames: async () => given.pools ?? ['master', 'worker'],
    serverFacts: async () => given.facts ?? {},
    joinTokens: {
      create: async (record) => {
        asked.push(`create ${record.pool}`);
        if (clashes-- > 0) throw fail('Conflict', 'create Secret: it exists');
        tokens.push(record);
      },
      list: async () => tokens,
      revoke: async (id) => {
        asked.push(`revoke ${id}`);
        const at = tokens.findIndex((token) => token.id === id);
        if (at >= 0) tokens.splice(at, 1);
        return at >= 0;
      },
      prune: async (nowMs) => {
        asked.push(`prune ${nowMs}`);
        if (given.pruneFails) throw fail('ApiForbidden', 'delete Secret: forbidden');
        return [];
      },
    },
  };
  const out: string[] = [];
  const err: string[] = [];
  const sink = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const context: Partial<CliContext> = {
    terminal: openTerminal({ out: sink(out), err: sink(err) }, { color: false, env: {} }),
    now: () => NOW,
    cluster: async () => {
      asked.push('cluster');
      return cluster as CliCluster;
    },
  };
  return {
    context: context as CliContext,
    tokens,
    asked,
    out: () => out.join(''),
    err: () => err.join(''),
  };
}

export function aRecord(more: Partial<JoinTokenRecord> = {}): JoinTokenRecord {
  return {
    id: '0123456789',
    pool: 'worker',
    hash: 'f'.repeat(64),
    createdAt: '2029-12-31T23:00:00Z',
    expiresAt: '2030-01-01T01:00:00Z',
    ...more,
  };
}
