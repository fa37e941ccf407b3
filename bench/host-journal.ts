import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';

import {
  createHostFiles,
  createJournal,
  type FileSystem,
  type HostFiles,
  NODE_FILE_SYSTEM,
  type PathChange,
} from '../adapters/host';

export interface HostJournalOptions {
  readonly files: number;
  readonly bytesPerFile: number;
  readonly runs: number;
  /** On the disk to be measured. Absent = the temporary directory. */
  readonly directory?: string;
}

interface HostJournalRow {
  readonly what: string;
  /** Calls that wait for the disk. */
  readonly syncs: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

export interface HostJournalResult {
  readonly files: number;
  readonly bytesPerFile: number;
  readonly runs: number;
  readonly ways: readonly HostJournalRow[];
  /** Over the same changes without the journal. */
  readonly overheadSyncs: number;
  readonly overheadMs: number;
}

const OWNER = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
const DIRECTORIES = 10;

interface Counted {
  readonly files: HostFiles;
  readonly syncs: () => number;
}

type Way = (root: string, changes: readonly PathChange[]) => Promise<number>;

export async function runJournalBench(options: HostJournalOptions): Promise<HostJournalResult> {
  const ways: readonly (readonly [string, Way])[] = [
    ['plain writes, nothing synced', plainWrites],
    ['one file after the other, each synced with its directory', oneByOne],
    ['as an update, without the journal', batched],
    ['as an update, with the journal', journaled],
  ];
  const rows: HostJournalRow[] = [];
  for (const [what, way] of ways) rows.push(await measure(what, way, options));
  const [without, withJournal] = rows.slice(-2);
  const { files, bytesPerFile, runs } = options;
  return {
    files,
    bytesPerFile,
    runs,
    ways: rows,
    overheadSyncs: (withJournal?.syncs ?? 0) - (without?.syncs ?? 0),
    overheadMs: rounded((withJournal?.medianMs ?? 0) - (without?.medianMs ?? 0)),
  };
}

async function measure(
  what: string,
  way: Way,
  options: HostJournalOptions,
): Promise<HostJournalRow> {
  const root = mkdtempSync(join(options.directory ?? tmpdir(), 'slipway-bench-'));
  try {
    const times: number[] = [];
    let syncs = 0;
    // The first run creates the files that the later runs rewrite.
    for (let run = 0; run <= options.runs; run++) {
      const changes = changesOf(options, run);
      if (run === 0) plant(root, changes);
      const start = performance.now();
      syncs = await way(root, changes);
      if (run > 0) times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    const medianMs = rounded(times[Math.floor(times.length / 2)] ?? 0);
    return { what, syncs, medianMs, worstMs: rounded(times.at(-1) ?? 0) };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function changesOf(options: HostJournalOptions, run: number): readonly PathChange[] {
  const content = Buffer.alloc(options.bytesPerFile, `content ${run} `);
  return Array.from({ length: options.files }, (_, index) => ({
    path: `/etc/bench/${index % DIRECTORIES}/file-${index}`,
    state: { kind: 'file', content, mode: 0o644, owner: OWNER, attributes: { keep: true } },
  }));
}

function plant(root: string, changes: readonly PathChange[]): void {
  for (const { path } of changes) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), 'before');
  }
}

function counted(root: string): Counted {
  let syncs = 0;
  const fs: FileSystem = {
    ...NODE_FILE_SYSTEM,
    async open(...words) {
      const handle = await NODE_FILE_SYSTEM.open(...words);
      const counting = (sync: () => Promise<void>) => () => {
        syncs += 1;
        return sync();
      };
      handle.sync = counting(handle.sync.bind(handle));
      handle.datasync = counting(handle.datasync.bind(handle));
      return handle;
    },
  };
  return { files: createHostFiles({ root, fs }), syncs: () => syncs };
}

const plainWrites: Way = async (root, changes) => {
  for (const { path, state } of changes) {
    if (state.kind === 'file' && Buffer.isBuffer(state.content)) {
      writeFileSync(join(root, path), state.content);
    }
  }
  return 0;
};

const oneByOne: Way = async (root, changes) => {
  const { files, syncs } = counted(root);
  for (const change of changes) await files.change([change]);
  return syncs();
};

const batched: Way = async (root, changes) => {
  const { files, syncs } = counted(root);
  await files.change(changes);
  return syncs();
};

const journaled: Way = async (root, changes) => {
  const { files, syncs } = counted(root);
  const journal = await createJournal<object, string>(files).begin('bench', {});
  await journal.record(changes.map(({ path }) => path));
  await files.change(changes);
  await journal.mark('applied');
  await journal.close();
  return syncs();
};

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
