/**
 * Configs that Slipway refuses before rendering although MCO renders them, because every node would
 * fail on them or they do not mean what they say.
 */

import { fail, failureName, messageOf } from '../errors';
import {
  convertIgnition,
  listOf,
  readIgnition,
  readRawIgnition,
  structOf,
  wordOf,
  type IgnitionObject,
} from '../ignition';
import { splitKernelArguments } from '../os/kernel-arguments';
import { reportAccounts } from './admission-accounts';
import type { ContentPorts } from './admission-contents';
import { reportFiles } from './admission-files';
import { reportImages } from './admission-images';
import { reportFindings, reportVersion } from './admission-ignition';
import { reportPlaceholders } from './admission-placeholders';
import { reportPlaces } from './admission-places';
import { describeProblem, type AdmissionProblem, type Report } from './admission-problem';
import { reportUnits } from './admission-units';
import { EXTENSIONS, unknownExtensions } from './extensions';
import type { MachineConfig, MachineConfigSpec } from './types';
import { MAX_OBJECT_BYTES } from './limits';
import { withoutNulls } from './nulls';
import { isKernelType, KernelType } from './validate';

/**
 * All problems of the MachineConfigs of a pool, in their order; empty = they may be rendered.
 *
 * A file without contents is valid when another MachineConfig of the pool brings them.
 *
 * @param isWhole - false = the pool may have further MachineConfigs, which bring missing parts
 */
export function admissionProblems(
  sources: readonly MachineConfig[],
  ports: ContentPorts,
  { isWhole }: { readonly isWhole: boolean } = { isWhole: true },
): readonly AdmissionProblem[] {
  const problems: AdmissionProblem[] = [];
  const configs = sources.map((source) => {
    const { name } = source.metadata;
    const report: Report = (field, problem, fix) => {
      problems.push({ machineConfig: name, field, problem, fix });
    };
    // In an example that was not filled in, all other problems follow from that.
    const rest = reportPlaceholders(source.spec, ports, report) ? () => undefined : report;
    reportSpec(withoutNulls(source).spec, rest);
    reportSize(source, rest);
    return { report: rest, config: admittedConfig(source.spec.config, ports, rest) };
  });
  if (isWhole) reportMissingContents(configs);
  return problems;
}

/**
 * The same as an error that names every problem.
 *
 * @throws InvalidMachineConfig
 */
export function refuseInadmissible(sources: readonly MachineConfig[], ports: ContentPorts): void {
  const problems = admissionProblems(sources, ports);
  if (problems.length === 0) return;
  throw fail('InvalidMachineConfig', problems.map(describeProblem).join('\n'), { problems });
}

/** A MachineConfig that the API server could not store. */
function reportSize(source: MachineConfig, report: Report): void {
  const bytes = Buffer.byteLength(JSON.stringify(source));
  if (bytes <= MAX_OBJECT_BYTES) return;
  report(
    'spec.config',
    `the object has ${bytes} bytes, and the API server stores at most ${MAX_OBJECT_BYTES}`,
    'compress large files (compression: gzip), or move data out',
  );
}

/** Fields beside `config`. Repeats the checks of the API server's schema. */
function reportSpec(spec: MachineConfigSpec, report: Report): void {
  const kernelType: unknown = spec.kernelType ?? '';
  if (typeof kernelType !== 'string' || !isKernelType(kernelType)) {
    const known = Object.values(KernelType).join(', ');
    report(
      'spec.kernelType',
      `${JSON.stringify(kernelType)} is no kernel type`,
      `use one of ${known}`,
    );
  }
  reportTexts(spec.kernelArguments, 'spec.kernelArguments', isKernelArgument, report);
  if (reportTexts(spec.extensions, 'spec.extensions', isWord, report)) {
    const known = Object.keys(EXTENSIONS).join(', ');
    for (const name of unknownExtensions(spec.extensions ?? [])) {
      const index = spec.extensions?.indexOf(name) ?? 0;
      report(
        `spec.extensions[${index}]`,
        `${JSON.stringify(name)} is no extension`,
        `use one of ${known}`,
      );
    }
  }
  const fips: unknown = spec.fips;
  if (fips !== undefined && typeof fips !== 'boolean') {
    report('spec.fips', 'not a boolean', 'write true or false without quotes');
  }
  reportImages(spec, report);
}

/** Whether a list holds only texts on one line; reports the others. */
function reportTexts(
  list: unknown,
  field: string,
  isFine: (text: string) => boolean,
  report: Report,
): boolean {
  if (list === undefined) return true;
  if (!Array.isArray(list)) {
    report(field, 'not a list', 'write one entry per line, each after a dash');
    return false;
  }
  const wrong = list.flatMap((item: unknown, i) =>
    typeof item === 'string' && isFine(item) ? [] : [i],
  );
  for (const i of wrong) {
    report(
      `${field}[${i}]`,
      'not a text on one line',
      'write a text, quoted when it looks like a number',
    );
  }
  return wrong.length === 0;
}

/** As in MCO, a blank entry is ignored and line breaks are blanks; but not inside quotes. */
function isKernelArgument(entry: string): boolean {
  return splitKernelArguments([entry]).every((argument) => !/[\n\r\0]/.test(argument));
}

function isWord(text: string): boolean {
  return text.trim() !== '' && !/[\n\r\0]/.test(text);
}

/** The config in 3.5 when it can be read; otherwise reports its problems. */
function admittedConfig(
  config: unknown,
  ports: ContentPorts,
  report: Report,
): IgnitionObject | undefined {
  if (config === undefined || config === null) return undefined;
  if (typeof config !== 'object' || Array.isArray(config)) {
    const what = Array.isArray(config) ? 'a list' : `a ${typeof config}`;
    const fix = 'write the Ignition config as an object: config: {ignition: {version: 3.5.0}}';
    report('spec.config', `the config is ${what} and not an object`, fix);
    return undefined;
  }
  const raw = readRawIgnition(config, ports);
  if (raw === undefined) return undefined;
  const read = readIgnition(raw);
  if (!('config' in read)) {
    if (read.errors.length === 0)
      reportVersion(config as Readonly<Record<string, unknown>>, report);
    const reported = reportFindings(read.errors, report);
    if (read.decoded === undefined) return undefined;
    // Skips fields that a finding of Ignition names already.
    reportParts(read.decoded, ports, (field, ...words) => {
      if (!reported.some((known) => isSameField(known, field))) report(field, ...words);
    });
    return read.decoded;
  }
  try {
    const converted = convertIgnition(read);
    reportParts(converted, ports, report);
    return converted;
  } catch (error) {
    if (failureName(error) !== 'InvalidIgnition') throw error;
    const { details } = error as { readonly details?: { readonly field?: unknown } };
    const field = typeof details?.field === 'string' ? details.field : 'spec.config';
    report(field, messageOf(error), 'write the config in Ignition 3.5.0');
    return undefined;
  }
}

function reportParts(config: IgnitionObject, ports: ContentPorts, report: Report): void {
  reportPlaces(config, report);
  reportFiles(config, ports, report);
  reportUnits(config, report);
  reportAccounts(config, report);
}

/** Whether one field is the other, or inside it. */
function isSameField(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return long.startsWith(short) && /^($|[.[])/.test(long.slice(short.length));
}

interface Admitted {
  readonly report: Report;
  readonly config: IgnitionObject | undefined;
}

/**
 * Files without contents in any MachineConfig of the pool. MCO renders them once, with `overwrite:
 * true`, and can never read its own result again.
 */
function reportMissingContents(configs: readonly Admitted[]): void {
  const filled = new Set<string>();
  for (const { config } of configs) {
    for (const file of filesOf(config)) {
      const appends = listOf(file['append']).length > 0;
      if (appends || structOf(file['contents'])['source'] !== undefined) {
        filled.add(wordOf(file['path']));
      }
    }
  }
  for (const { config, report } of configs) {
    filesOf(config).forEach((file, i) => {
      const path = wordOf(file['path']);
      if (filled.has(path)) return;
      report(
        `spec.config.storage.files[${i}].contents.source`,
        `no MachineConfig of the pool gives ${path} contents`,
        'add contents: {source: "data:,"} for an empty file',
      );
    });
  }
}

function filesOf(config: IgnitionObject | undefined): readonly IgnitionObject[] {
  return listOf(structOf(config?.['storage'])['files']);
}
