/**
 * Deployments are staged, finalized and booted as with rpm-ostree, without images. The state is a
 * file, so it survives the process.
 */

import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { fail, failureName, messageOf } from '../../core/errors';
import { hasArgument, splitKernelArguments } from '../../core/os';
import type { HostFiles } from '../host/files';
import type { Deployment, OsStatus, StepContext } from '../host/os/os-status';
import type { Pace } from './pace';

/** Stands for the boot loader's files. */
export const SIMULATED_OS_FILE = '/var/lib/slipway/simulated-os.json';

interface MachineState extends OsStatus {
  /** Numbers the deployments. */
  readonly serial: number;
  /** After a rollback: boots instead of a staged deployment. */
  readonly next?: Deployment;
}

export type SimulatedOs = Awaited<ReturnType<typeof createSimulatedOs>>;

const FACTORY: Omit<Deployment, 'id'> = {
  image: '',
  kernelArguments: [],
  extensions: [],
  kernelType: 'default',
};

export async function createSimulatedOs({ files, pace }: { files: HostFiles; pace: Pace }) {
  let state = await readState(files);

  async function save(next: MachineState): Promise<void> {
    await writeState(files, next);
    state = next;
  }

  /** It starts as a copy of the booted one. */
  async function changeStaged(change: Partial<Deployment>): Promise<void> {
    const serial = state.serial + 1;
    const base = state.staged ?? { ...state.booted, locked: true };
    const id = `simulated-${serial}`;
    await save({ ...state, serial, staged: { ...base, ...change, id, locked: true } });
  }

  const newest = () => state.staged ?? state.booted;

  return {
    name: 'simulated' as const,
    managesOs: true,
    lacks: {},
    status: async (): Promise<OsStatus> => state,
    // A simulated deployment has no image to check.
    checkImage: async (): Promise<void> => undefined,
    async stage(image: string, context: StepContext): Promise<void> {
      if (state.staged?.image === image) return;
      context.progress(`pulling ${image} (simulated)`);
      await pace.take('stage', context.signal);
      await changeStaged({ image });
    },
    async setKernelArguments(change: {
      readonly from: readonly string[];
      readonly to: readonly string[];
    }): Promise<void> {
      const to = splitKernelArguments(change.to);
      const gone = [...splitKernelArguments(change.from), ...to];
      const kept = newest().kernelArguments.filter((argument) => !hasArgument(gone, argument));
      await changeStaged({ kernelArguments: [...kept, ...to] });
    },
    setExtensions: (change: { readonly to: readonly string[] }) =>
      changeStaged({ extensions: change.to }),
    setKernelType: (kernelType: string) => changeStaged({ kernelType }),
    async finalize(): Promise<void> {
      if (state.staged?.locked !== true) return;
      await save({ ...state, staged: { ...state.staged, locked: false } });
    },
    async discard(): Promise<void> {
      const { staged, ...rest } = state;
      if (staged !== undefined) await save(rest);
    },
    async rollback(deployment: string): Promise<void> {
      const { staged, rollback, pending, ...rest } = state;
      if (pending !== undefined && deployment === state.booted.id) {
        await save({ ...rest, rollback: pending });
        return;
      }
      if (rollback?.id !== deployment) {
        const lost = staged === undefined ? '' : ` (${staged.id} is staged)`;
        throw fail('RollbackFailed', `boot deployment ${deployment}: it is not there${lost}`);
      }
      await save({ ...rest, rollback, next: rollback });
    },
    async cleanUp(deployment: string): Promise<void> {
      const { rollback, pending, ...rest } = state;
      await save({
        ...rest,
        ...(rollback === undefined || rollback.id === deployment ? {} : { rollback }),
        ...(pending === undefined || pending.id === deployment ? {} : { pending }),
      });
    },
    /**
     * A released staged deployment takes over, a locked one is lost. `broken` = it fails to boot
     * and the boot loader falls back; the next boot tries it again.
     */
    async boot({ broken }: { readonly broken: boolean }): Promise<string> {
      const { staged, next, pending, ...rest } = state;
      const released = staged?.locked === false ? withoutLock(staged) : undefined;
      const wanted = next ?? released ?? pending ?? state.booted;
      const bootId = randomUUID();
      const isOther = wanted.id !== state.booted.id;
      if (!isOther) await save({ ...rest, bootId });
      else if (broken) await save({ ...rest, bootId, pending: wanted });
      else await save({ ...rest, bootId, booted: wanted, rollback: state.booted });
      return bootId;
    },
    /** As Ignition and the first boot leave it. */
    async install(deployment: Omit<Deployment, 'id'>): Promise<void> {
      const serial = state.serial + 1;
      await save({
        bootId: state.bootId,
        serial,
        booted: { ...deployment, id: `simulated-${serial}` },
      });
    },
  };
}

function withoutLock({
  locked: _locked,
  ...deployment
}: NonNullable<OsStatus['staged']>): Deployment {
  return deployment;
}

async function readState(files: HostFiles): Promise<MachineState> {
  const found = await files.look(SIMULATED_OS_FILE);
  // Only this module writes it, atomically.
  if (found.kind === 'file') return JSON.parse(found.content.toString('utf8')) as MachineState;
  const fresh = { bootId: randomUUID(), serial: 0, booted: { ...FACTORY, id: 'simulated-0' } };
  await writeState(files, fresh);
  return fresh;
}

/** @throws `OsCommandFailed` when the disk refuses */
async function writeState(files: HostFiles, state: MachineState): Promise<void> {
  const owner = { uid: 0, gid: 0 };
  const content = Buffer.from(`${JSON.stringify(state, null, 2)}\n`);
  try {
    for (const path of ['/var', '/var/lib']) {
      await files.makeDirectory(path, { mode: 0o755, owner });
    }
    await files.makeDirectory(posix.dirname(SIMULATED_OS_FILE), { mode: 0o700, owner });
    await files.writeFile(SIMULATED_OS_FILE, { content, mode: 0o600, owner });
  } catch (error) {
    if (failureName(error) !== undefined || !hasCode(error)) throw error;
    throw Object.assign(fail('OsCommandFailed', `write ${messageOf(error)}`), { cause: error });
  }
}

/** A process that a test ends is no disk failure. */
function hasCode(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error;
}
