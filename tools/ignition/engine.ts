/** The real Ignition engine outside an initramfs. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureBinary } from '../binaries';
import { run } from '../binaries/run-program';

interface EngineOptions {
  /** Keeps the merged config. */
  readonly work: string;
  /** True = sshd reads a directory of fragments, false = one file. */
  readonly keysInDirectory?: boolean;
  /** Command prefix of the fetch, for the network of a machine. */
  readonly through?: readonly string[];
  /** In seconds, for a server that does not answer. */
  readonly fetchSeconds?: number;
}

interface Engine {
  /** With all that the config refers to. @throws Error with the end of the engine's log */
  fetch(config: object): Promise<void>;
  /** Accounts, files, directories, links, units, presets. Needs root. */
  writeFiles(root: string): Promise<void>;
}

/** As pinned in tools/ignition/go.mod. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const { work, keysInDirectory = true, through = [], fetchSeconds = 60 } = options;
  const program = await ensureBinary('ignition');
  const config = join(work, 'config.ign');
  const stage = async (
    name: string,
    { before = [], more = [] }: { before?: readonly string[]; more?: readonly string[] },
  ): Promise<void> => {
    const [command = program, ...args] = [
      ...[...before, program],
      ...['-platform', 'file', '-stage', name, '-log-to-stdout'],
      ...['-config-cache', join(work, 'merged.json'), '-state-file', join(work, 'state.json')],
      ...['-fetch-timeout', `${fetchSeconds}s`, ...more],
    ];
    const environment = {
      ...process.env,
      IGNITION_CONFIG_FILE: config,
      // No base config of this machine.
      IGNITION_SYSTEM_CONFIG_DIR: join(work, 'no-system-configs'),
      IGNITION_WRITE_AUTHORIZED_KEYS_FRAGMENT: String(keysInDirectory),
    };
    const complaint = await run(command, args, environment).then(() => undefined, lastWords);
    if (complaint !== undefined) throw new Error(`Ignition's ${name} stage failed: ${complaint}`);
  };
  return {
    async fetch(wanted) {
      await mkdir(work, { recursive: true });
      await writeFile(config, JSON.stringify(wanted), { mode: 0o600 });
      await stage('fetch', { before: through });
    },
    writeFiles: (root) => stage('files', { more: ['-root', root] }),
  };
}

const COMPLAINT = /^(CRITICAL|ERROR|WARNING)\b|^INFO\s*: GET (result|error):/;

/** The engine also logs the whole config, secrets included. */
function lastWords(error: unknown): string {
  const lines = error instanceof Error ? error.message.split('\n') : [];
  const complaints = lines.filter((line) => COMPLAINT.test(line.trim()));
  return complaints.map((line) => line.trim()).join('\n') || 'it does not say why';
}
