import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/errors';
import { bootstrapKubeconfig, type FirstBootFacts } from '../../core/first-boot';
import { followFiles, type FollowLog } from '../follow-files';

export interface FactFiles {
  readonly bootstrapKubeconfig?: string | undefined;
  /**
   * Instead: a directory with `token`, and `ca.crt` (or `ca-bundle.crt`, which wins) of the API
   * server.
   */
  readonly bootstrapTokenDirectory?: string | undefined;
  /** `https://host:port` for machines; required with the directory. */
  readonly apiServerUrl?: string | undefined;
  /** `host[:port]=file` each: authorities of registries, PEM. */
  readonly registryAuthority: readonly string[];
}

export type FileFacts = Pick<FirstBootFacts, 'kubeconfig' | 'registryAuthorities'>;

/**
 * Follows the files. A later failure keeps the last good values.
 *
 * @returns the current values
 * @throws an Error that names the unusable file or setting
 */
export async function followFacts(
  files: FactFiles,
  options: {
    readonly signal: AbortSignal;
    readonly log: FollowLog;
    readonly changed?: () => void;
  },
): Promise<() => FileFacts> {
  const { log, changed } = options;
  let facts = await readFacts(files);
  const reload = (): void => {
    readFacts(files).then(
      (read) => {
        if (JSON.stringify(read) === JSON.stringify(facts)) return;
        facts = read;
        log.info({}, 'files for first configs reloaded');
        changed?.();
      },
      (error: unknown) =>
        log.warn({ reason: messageOf(error) }, 'files for first configs not read'),
    );
  };
  followFiles(pathsOf(files), reload, options);
  return () => facts;
}

async function readFacts(files: FactFiles): Promise<FileFacts> {
  const [kubeconfig, registryAuthorities] = await Promise.all([
    readKubeconfig(files),
    Promise.all(
      registries(files).map(async ([registry, file]) => [registry, await readFile(file, 'utf8')]),
    ),
  ]);
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(registryAuthorities.length === 0
      ? {}
      : { registryAuthorities: Object.fromEntries(registryAuthorities) as Record<string, string> }),
  };
}

async function readKubeconfig(files: FactFiles): Promise<string | undefined> {
  if (files.bootstrapKubeconfig !== undefined) return readFile(files.bootstrapKubeconfig, 'utf8');
  const { bootstrapTokenDirectory: directory, apiServerUrl: server } = files;
  if (directory === undefined && server === undefined) return undefined;
  if (directory === undefined || server === undefined) {
    throw new Error('apiServerUrl and bootstrapTokenDirectory go together: one of them is missing');
  }
  const [token, authority] = await Promise.all([
    readFile(join(directory, 'token'), 'utf8'),
    readFile(join(directory, 'ca-bundle.crt')).catch(() => readFile(join(directory, 'ca.crt'))),
  ]);
  // Editors and `echo` end the line; a kubelet could not send that.
  const trimmed = token.trim();
  return bootstrapKubeconfig({ server, authority: authority.toString('base64'), token: trimmed });
}

/** Undefined = the entry is `host[:port]=file`. */
export function registryAuthorityProblem(entry: string): string | undefined {
  const at = entry.indexOf('=');
  const isPair = at > 0 && at < entry.length - 1 && !/[/\s]/.test(entry.slice(0, at));
  return isPair ? undefined : `${entry} is not host[:port]=file`;
}

function registries({ registryAuthority }: FactFiles): readonly (readonly [string, string])[] {
  return registryAuthority.map((entry) => {
    const problem = registryAuthorityProblem(entry);
    if (problem !== undefined) throw new Error(`registryAuthority: ${problem}`);
    const at = entry.indexOf('=');
    return [entry.slice(0, at), entry.slice(at + 1)];
  });
}

function pathsOf(files: FactFiles): readonly string[] {
  const directory = files.bootstrapTokenDirectory;
  return [
    files.bootstrapKubeconfig ?? [],
    directory === undefined ? [] : join(directory, 'token'),
    registries(files).map(([, file]) => file),
  ].flat();
}
