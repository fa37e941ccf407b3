import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Deployment, OsStatus } from './os-status';
import type { BootcEntry, BootcStatus } from './bootc-status';
import { readBootId } from './boot-id';
import { kernelOptions, readLoaderEntries, withoutDeployment } from './loader-entries';
import type { RunProgram } from './program';

/** Adds kernel arguments, boot ID, and the real state of the lock. */
export async function statusOf(
  machine: { readonly run: RunProgram; readonly root: string; readonly hasRpmOstree: boolean },
  { booted, staged, rollback, rollbackQueued }: BootcStatus,
  isLocked: (entry: BootcEntry) => Promise<boolean>,
): Promise<OsStatus> {
  const entries = await readLoaderEntries(machine.root);
  const entryOf = ({ id }: BootcEntry) => entries.find(({ deployment }) => deployment === id);
  const current = entryOf(booted)?.kernelArguments ?? (await commandLine(machine.root));
  // A unified kernel image has no entry.
  const previous = rollback && deployment(rollback, entryOf(rollback)?.kernelArguments ?? []);
  return {
    bootId: await readBootId(),
    booted: deployment(booted, current),
    ...(staged === undefined
      ? {}
      : {
          staged: {
            ...deployment(staged, await stagedArguments(machine, current)),
            locked: await isLocked(staged),
          },
        }),
    ...(previous === undefined ? {} : { rollback: previous }),
    ...(previous === undefined || !rollbackQueued ? {} : { pending: previous }),
  };
}

/** bootc copies the booted arguments; only rpm-ostree can change them. */
async function stagedArguments(
  { run, hasRpmOstree }: { readonly run: RunProgram; readonly hasRpmOstree: boolean },
  current: readonly string[],
): Promise<readonly string[]> {
  if (!hasRpmOstree) return current;
  const options = await run('rpm-ostree', ['kargs', '--deploy-index=0']);
  return withoutDeployment(kernelOptions(`options ${options.trim()}`));
}

async function commandLine(root: string): Promise<readonly string[]> {
  const line = await readFile(join(root, 'proc/cmdline'), 'utf8');
  return withoutDeployment(kernelOptions(`options ${line.trim()}`));
}

function deployment(entry: BootcEntry, kernelArguments: readonly string[]): Deployment {
  return {
    id: entry.id,
    ...(entry.image === undefined ? {} : { image: entry.image }),
    ...(entry.digest === undefined ? {} : { digest: entry.digest }),
    kernelArguments,
    extensions: [],
    kernelType: 'default',
  };
}

export function nextOf({ booted, rollback, rollbackQueued }: BootcStatus): BootcEntry {
  return rollbackQueued && rollback !== undefined ? rollback : booted;
}
