/** `slipway render`: as the controllers do, without a cluster. */

import {
  describeManifestProblem,
  readManifestFiles,
  readManifestObjects,
  writeOutputDirectory,
  type ManifestObject,
  type ManifestProblem,
} from '../../adapters/manifests';
import { readTemplateFolder } from '../../adapters/templates';
import {
  BESIDE_BOOTSTRAP,
  BOOTSTRAP_FOLDERS,
  bootstrapFiles,
  renderManifests,
  type EarlierConfigs,
  type Finding,
  type OfflineRender,
  type Rest,
} from '../../controllers/offline';
import { fewNames } from '../../core/few';
import type { MachineConfig } from '../../core/machine-config/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { VERSION } from '../../process/version';
import type { ExitCode } from '../exit-codes';
import { cliError, EXIT } from '../exit-codes';
import { printData } from '../output';
import type { CliContext } from '../ports';

export interface RenderOptions {
  readonly manifestDir: readonly string[];
  /** Not with `check`. */
  readonly destDir?: string;
  readonly check: boolean;
  /** Pools may select MachineConfigs that are only in the cluster. */
  readonly partial: boolean;
  /** Warnings are errors. */
  readonly strict: boolean;
  /** An earlier result: the configs of the running machines. */
  readonly against?: string;
  /** Default: the templates that come with Slipway. */
  readonly templatesDir?: string;
  readonly output: 'text' | 'json';
}

/** With `--check`, lists each problem. Exit 4 on errors; warnings and notes are only printed. */
export async function render(context: CliContext, options: RenderOptions): Promise<ExitCode> {
  if (options.check === (options.destDir !== undefined)) {
    throw cliError(EXIT.USAGE, 'give either --dest-dir DIRECTORY or --check');
  }
  if (options.partial && (!options.check || options.against !== undefined)) {
    throw cliError(EXIT.USAGE, '--partial goes with --check, and not with --against');
  }
  const manifests = await readAll(options.manifestDir);
  if (manifests.objects.length + manifests.problems.length === 0) {
    const places = options.manifestDir.join(', ');
    throw cliError(EXIT.USAGE, `no manifests found in ${places} (*.yaml, *.yml, *.json)`);
  }
  const rendered = renderManifests({
    objects: manifests.objects,
    unreadable: manifests.problems,
    earlier: options.against === undefined ? new Map() : await readEarlier(options.against),
    version: VERSION,
    rest: restOf(options),
    ...(options.templatesDir === undefined
      ? {}
      : { templates: readTemplateFolder(options.templatesDir) }),
  });
  const result = options.strict ? withoutWarnings(rendered) : rendered;
  const isRefused = result.findings.some(({ severity }) => severity === 'error');
  if (!isRefused && result.pools.length === 0 && !options.check) {
    throw cliError(
      EXIT.USAGE,
      'the manifests hold no MachineConfigPool, so there is nothing to render',
    );
  }
  if (!isRefused && options.destDir !== undefined) await write(result, options.destDir);
  print(context, options, result, isRefused);
  return isRefused ? EXIT.FAILED : EXIT.OK;
}

function restOf({ check, partial }: RenderOptions): Rest {
  if (!check) return 'none';
  return partial ? 'elsewhere' : 'unknown';
}

function withoutWarnings(result: OfflineRender): OfflineRender {
  const findings = result.findings.map((finding): Finding =>
    finding.severity === 'warning' ? { ...finding, severity: 'error' } : finding,
  );
  return { ...result, findings };
}

interface Manifests {
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
}

async function readAll(directories: readonly string[]): Promise<Manifests> {
  const read = await Promise.all(directories.map(readFiles));
  const files = read.flatMap((one) => one.files);
  const { objects, problems } = readManifestObjects(files);
  return { objects, problems: [...read.flatMap((one) => one.problems), ...problems] };
}

async function readFiles(directory: string): ReturnType<typeof readManifestFiles> {
  try {
    return await readManifestFiles(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw cliError(EXIT.USAGE, `directory ${directory} cannot be read (${code})`);
  }
}

async function readEarlier(directory: string): Promise<EarlierConfigs> {
  const { objects, problems } = await readAll([directory]);
  const [first] = problems;
  if (first !== undefined) throw cliError(EXIT.USAGE, describeManifestProblem(first));
  const of = (kind: string): readonly ManifestObject[] =>
    objects.filter((object) => object.kind === kind);
  const configs = new Map(of('MachineConfig').map(({ name, value }) => [name, value]));
  const earlier = new Map<string, MachineConfig>();
  for (const { name, value } of of('MachineConfigPool')) {
    const { spec } = value as unknown as MachineConfigPool;
    const config = configs.get(spec.configuration?.name ?? '');
    if (config !== undefined) earlier.set(name, config as unknown as MachineConfig);
  }
  if (earlier.size > 0) return earlier;
  throw cliError(EXIT.USAGE, `${directory} is no result of slipway render --dest-dir`);
}

async function write(result: OfflineRender, directory: string): Promise<void> {
  const files = bootstrapFiles(result);
  const foreign = await writeOutputDirectory({
    directory,
    files,
    folders: BOOTSTRAP_FOLDERS,
    beside: BESIDE_BOOTSTRAP,
  }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw cliError(EXIT.INTERNAL, `--dest-dir ${directory} cannot be written: ${message}`);
  });
  if (foreign.length === 0) return;
  throw cliError(
    EXIT.USAGE,
    `${directory} holds what slipway render did not write (${fewNames(foreign)}); name a new or empty directory`,
  );
}

function print(
  context: CliContext,
  options: RenderOptions,
  result: OfflineRender,
  isRefused: boolean,
): void {
  const { out, err } = context.terminal;
  const pools = isRefused ? [] : result.pools;
  if (options.output === 'json') {
    printData(
      {
        ok: !isRefused,
        pools: pools.map(({ pool, rendered, sources }) => ({
          pool: pool.metadata.name,
          rendered: rendered.name,
          sources: sources.map(({ metadata }) => metadata.name),
        })),
        ...counts(result.findings),
        problems: result.findings,
        leftOut: Object.fromEntries(result.leftOut),
      },
      'json',
      context.terminal,
    );
    return;
  }
  // The problems are the data of a check.
  const problems = options.check ? out : err;
  for (const finding of result.findings) problems.write(`${line(finding)}\n`);
  const leftOut = [...result.leftOut].map(([kind, count]) => `${count} ${kind}`);
  if (leftOut.length > 0) err.write(`left out: ${leftOut.join(', ')}\n`);
  for (const { pool, rendered, sources } of pools) {
    const count = `${sources.length} MachineConfig${sources.length === 1 ? '' : 's'}`;
    out.write(`pool ${pool.metadata.name}: ${rendered.name} (${count})\n`);
  }
  const told = summary(result.findings);
  if (told !== '') err.write(`${told}${isRefused ? '; nothing was rendered' : ''}\n`);
}

function line(finding: Finding): string {
  const text = describeManifestProblem(finding);
  const { severity } = finding;
  return severity === 'error' ? text : text.replace(/(:\d+: )/, `$1${severity}: `);
}

function counts(
  findings: readonly Finding[],
): Readonly<Record<'errors' | 'warnings' | 'notes', number>> {
  const of = (wanted: Finding['severity']): number =>
    findings.filter(({ severity }) => severity === wanted).length;
  return { errors: of('error'), warnings: of('warning'), notes: of('note') };
}

/** Empty = no findings. */
function summary(findings: readonly Finding[]): string {
  return Object.entries(counts(findings))
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${count === 1 ? what.slice(0, -1) : what}`)
    .join(', ');
}
