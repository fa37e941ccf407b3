/**
 * Memory of a process after a full garbage collection. Resident memory cannot show growth in an
 * hour: V8 keeps garbage while there is space.
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
  readonly environment: Readonly<Record<string, string>>;
  /**
   * In all threads of the process, which then continues.
   *
   * @returns bytes of JavaScript heap and of external memory
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
