/**
 * From 3.5 to versions for the older Ignition of an installer image. Refuses what the older version
 * cannot express.
 *
 * @see MCO pkg/controller/common/ignition_converter.go (7ff337a4)
 */

import { parseGoUrl } from '../encoding/go-url';
import { fail } from '../errors';
import { decodeStruct } from './decode';
import { encodeStruct } from './encode';
import { formatReport, isFatal } from './report';
import { listOf, structOf } from './rules';
import { wordOf, type IgnitionObject, type StructSchema } from './schema';
import { schemaV2 } from './schema-v2';
import { CURRENT_MINOR, schemaV3, type Minor } from './schema-v3';
import { translateToV2 } from './translate-to-v2';
import { validateV3 } from './validate';
import { formatReportV2, validateV2 } from './validate-v2';

export const OUTPUT_VERSIONS = ['2.2', '3.1', '3.2', '3.3', '3.4', '3.5'] as const;
export type OutputVersion = (typeof OUTPUT_VERSIONS)[number];

/**
 * The plain JSON object of a config in another version.
 *
 * @param config - a valid config of 3.5
 * @throws InvalidIgnition naming what the version cannot express
 */
export function convertIgnitionTo(config: IgnitionObject, version: OutputVersion): IgnitionObject {
  if (version === '2.2') {
    // 2.2 expresses nothing that is newer than 3.1.
    refuseLosses(config, version, 1);
    return inSpecification2(config);
  }
  const minor = Number(version.slice(2)) as Minor;
  refuseLosses(config, version, minor);
  const ignition = { ...structOf(config['ignition']), version: `${version}.0` };
  const converted = encodeStruct({ ...config, ignition }, schemaV3(minor));
  const findings = validateV3(converted, minor);
  if (!isFatal(findings)) return converted;
  throw refused(version, `converted spec has unexpected fatal error:\n${formatReport(findings)}`);
}

function inSpecification2(config: IgnitionObject): IgnitionObject {
  const schema = schemaV2(2);
  const converted = decodeStruct(translateToV2(config), schema, 'types.Config');
  const entries = validateV2(converted, schema, { minor: 2 });
  if (!entries.some((entry) => entry.kind === 'error')) return encodeStruct(converted, schema);
  const report = formatReportV2(entries);
  throw refused('2.2', `converted spec has unexpected fatal error:\n${report}`);
}

function refused(version: string, why: string): Error {
  return fail('InvalidIgnition', `cannot convert the config to Ignition ${version}: ${why}`);
}

/** A feature of 3.x from `since` on, which 2.2 does not have. */
interface Loss {
  readonly since: Minor;
  readonly struct: string;
  readonly what: string;
  readonly present: (value: IgnitionObject) => boolean;
}

const LOSSES: readonly Loss[] = [
  {
    since: 5,
    struct: 'Luks',
    what: 'storage.luks.cex',
    present: (luks) => structOf(luks['cex'])['enabled'] === true,
  },
  {
    since: 4,
    struct: 'Luks',
    what: 'storage.luks.discard',
    present: (luks) => luks['discard'] === true,
  },
  {
    since: 4,
    struct: 'Luks',
    what: 'storage.luks.openOptions',
    present: (luks) => listOf(luks['openOptions']).length > 0,
  },
  {
    since: 4,
    struct: 'Tang',
    what: 'the advertisement of a tang server',
    present: (tang) => wordOf(tang['advertisement']) !== '',
  },
  ...['File', 'Directory'].map((struct) => ({
    since: 4 as const,
    struct,
    what: 'special mode bits',
    present: (node: IgnitionObject) => (Number(node['mode'] ?? 0) & 0o7000) !== 0,
  })),
  {
    since: 4,
    struct: 'Resource',
    what: 'a source with the scheme arn',
    present: (resource) => parseGoUrl(wordOf(resource['source']))?.scheme === 'arn',
  },
  {
    since: 3,
    struct: 'KernelArguments',
    what: 'kernelArguments',
    present: (kernel) =>
      listOf(kernel['shouldExist']).length + listOf(kernel['shouldNotExist']).length > 0,
  },
  {
    since: 3,
    struct: 'Filesystem',
    what: 'the filesystem format none',
    present: (filesystem) => filesystem['format'] === 'none',
  },
  {
    since: 2,
    struct: 'Storage',
    what: 'storage.luks',
    present: (storage) => listOf(storage['luks']).length > 0,
  },
  ...['PasswdUser', 'PasswdGroup'].map((struct) => ({
    since: 2 as const,
    struct,
    what: 'shouldExist of a user or group',
    present: (entry: IgnitionObject) => entry['shouldExist'] === false,
  })),
  {
    since: 2,
    struct: 'Partition',
    what: 'resize of a partition',
    present: (partition) => partition['resize'] === true,
  },
];

/** @param minor - the last version of specification 3 that expresses as much as `version` */
function refuseLosses(config: IgnitionObject, version: OutputVersion, minor: Minor): void {
  visit(config, schemaV3(CURRENT_MINOR), (value, { goName }) => {
    const loss = LOSSES.find(
      (candidate) =>
        candidate.struct === goName && minor < candidate.since && candidate.present(value),
    );
    if (loss === undefined) return;
    throw refused(version, `${loss.what} needs 3.${loss.since}`);
  });
}

function visit(
  value: IgnitionObject,
  schema: StructSchema,
  action: (value: IgnitionObject, schema: StructSchema) => void,
): void {
  action(value, schema);
  for (const { name, struct, list } of schema.fields) {
    const child = value[name];
    if (struct === undefined || child === undefined) continue;
    const children = list ? listOf(child) : [child as IgnitionObject];
    for (const item of children) visit(item, struct, action);
  }
}
