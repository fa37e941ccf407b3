/**
 * What a process of Slipway holds once all garbage is collected. Resident memory alone cannot tell
 * growth in an hour: V8 lets garbage lie while there is room, and goes up and down by hundreds of MiB.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { repositoryRoot } from '../tools/repository-root';
import { COLLECTING_DIRECTORY } from './collecting';

const PROBE = join(repositoryRoot(), 'dist', 'bench', 'collecting.js');

const Reply = z.union([z.object({ liveBytes: z.number() }), z.object({ error: z.string() })]);

export interface LiveMemory {
  /** For processes that are to be asked. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Collects in all threads of the process; it works on afterwards.
   *
   * @returns bytes of JavaScript heap, and what hangs on it outside
   * @throws Error when the process cannot be asked or one of its threads does not answer
   */
  collect(pid: number): Promise<number>;
  stop(): Promise<void>;
}

export async function startLiveMemory(): Promise<LiveMemory> {
  const directory = await mkdtemp(join(tmpdir(), 'slipway-live-'));
  return {
    environment: {
      [COLLECTING_DIRECTORY]: directory,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --require="${PROBE}"`.trim(),
    },
    collect: async (pid) => {
      const socket = connect(join(directory, `${pid}.sock`));
      const reply = Reply.parse(JSON.parse(await text(socket)));
      if ('error' in reply) throw new Error(`process ${pid} collects no garbage: ${reply.error}`);
      return reply.liveBytes;
    },
    stop: () => rm(directory, { recursive: true, force: true }),
  };
}
