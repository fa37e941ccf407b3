import type { HostPorts, Journal, OpenJournal } from '../../../../host/ports';
import type { FileSystem } from '../../../../adapters/host';
import type { ModelProcess } from './model-file-system';

type Open = Parameters<FileSystem['open']>;

/** Drops syncs that the product asks for. */
export const withoutSync =
  (isSkipped: (path: string, flags: Open[1]) => boolean) =>
  (process: ModelProcess): ModelProcess => ({
    ...process,
    fs: {
      ...process.fs,
      async open(...args: Open) {
        const handle = await process.fs.open(...args);
        const nothing = async (): Promise<void> => undefined;
        const skipped = { sync: nothing, datasync: nothing };
        return isSkipped(String(args[0]), args[1]) ? Object.assign(handle, skipped) : handle;
      },
    },
  });

export const withJournal =
  (change: (open: OpenJournal) => OpenJournal) =>
  (ports: HostPorts): HostPorts => {
    const { journal } = ports;
    const changed: Journal = {
      async open() {
        const open = await journal.open();
        return open === undefined ? undefined : change(open);
      },
      begin: async (...args) => change(await journal.begin(...args)),
    };
    return { ...ports, journal: changed };
  };
