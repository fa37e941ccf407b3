/** Ignition's rules for disks, partitions, filesystems, RAID and LUKS. */

import { parseGoUrl } from '../encoding/go-url';
import { listOf, structOf, textOf, type Findings, type Rule } from './rules';
import { FINDING } from './rules-text';
import {
  filesystemLabelRule,
  guidRule,
  optionalUrlRule,
  partitionLabelRule,
  pathRule,
} from './rules-values';
import { wordOf, type IgnitionObject } from './schema';

function filled(value: unknown): boolean {
  return value !== undefined && value !== '';
}

function disk(value: IgnitionObject, findings: Findings): void {
  const device = wordOf(value['device']);
  if (device === '') {
    findings.error(FINDING.DISK_DEVICE, 'device');
    return;
  }
  findings.error(pathRule(device), 'device');
  const partitions = listOf(value['partitions']);
  const report = (message: string, index: number | undefined): void => {
    if (index !== undefined) findings.error(message, 'partitions', index);
  };
  report(FINDING.PARTITION_NUMBERS, repeated(partitions, 'number'));
  report(FINDING.PARTITIONS_OVERLAP, overlapping(partitions));
  const unwanted = partitions.some((partition) => partition['shouldExist'] === false);
  if (unwanted && partitions.some((partition) => partition['number'] === undefined)) {
    findings.error(FINDING.PARTITION_ZEROES, 'partitions');
  }
  report(FINDING.PARTITION_LABELS, repeated(partitions, 'label'));
}

/** Index of the first entry that repeats a value of the field. */
function repeated(entries: readonly IgnitionObject[], field: string): number | undefined {
  const seen = new Set<unknown>();
  for (const [i, entry] of entries.entries()) {
    const value = entry[field];
    if (value === undefined) continue;
    if (seen.has(value)) return i;
    seen.add(value);
  }
  return undefined;
}

/** Index of a partition that another one with fixed start and size overlaps. */
function overlapping(partitions: readonly IgnitionObject[]): number | undefined {
  const spans = partitions.map((partition) => {
    const start = partition['startMiB'] as number | undefined;
    const size = partition['sizeMiB'] as number | undefined;
    if (start === undefined || size === undefined || start === 0) return undefined;
    return { start, end: size === 0 ? start : start + size - 1 };
  });
  for (const [p, span] of spans.entries()) {
    if (span === undefined) continue;
    const other = spans.findIndex(
      (candidate, o) => o !== p && candidate !== undefined && overlap(span, candidate),
    );
    if (other >= 0) return other;
  }
  return undefined;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Written out, because ends may be before starts: sizes are not checked yet. */
function overlap(p: Span, o: Span): boolean {
  const holds = (at: number): boolean => at >= o.start && at <= o.end;
  return holds(p.start) || holds(p.end) || (p.start < o.start && p.end > o.end);
}

function partition(value: IgnitionObject, findings: Findings): void {
  const label = textOf(value['label']);
  const described =
    label !== undefined ||
    filled(value['typeGuid']) ||
    filled(value['guid']) ||
    value['startMiB'] !== undefined ||
    value['sizeMiB'] !== undefined;
  if (value['shouldExist'] === false && described) findings.error(FINDING.PARTITION_UNWANTED);
  if (value['number'] === undefined && label === undefined) findings.error(FINDING.PARTITION_KEY);
  findings.error(partitionLabelRule(label), 'label');
  findings.error(guidRule(textOf(value['guid'])), 'guid');
  findings.error(guidRule(textOf(value['typeGuid'])), 'typeGuid');
}

function filesystem(value: IgnitionObject, findings: Findings): void {
  const path = textOf(value['path']);
  if (path !== undefined && path !== '') findings.error(pathRule(path), 'path');
  findings.error(pathRule(wordOf(value['device'])), 'device');
  findings.error(formatRule(value, findings), 'format');
  const label = textOf(value['label']);
  findings.error(filesystemLabelRule(label, textOf(value['format'])), 'label');
}

function formatRule(value: IgnitionObject, findings: Findings): string | undefined {
  const format = textOf(value['format']);
  if (format !== undefined && format !== '') {
    const known = [
      'ext4',
      'btrfs',
      'xfs',
      'swap',
      'vfat',
      ...(findings.minor >= 3 ? ['none'] : []),
    ];
    return known.includes(format) ? undefined : FINDING.FORMAT;
  }
  const described =
    filled(value['path']) ||
    filled(value['label']) ||
    filled(value['uuid']) ||
    value['wipeFilesystem'] === true ||
    listOf(value['mountOptions']).length > 0 ||
    listOf(value['options']).length > 0;
  return described ? FINDING.FORMAT_MISSING : undefined;
}

function storage(value: IgnitionObject, findings: Findings): void {
  const disks = new Map(listOf(value['disks']).map((entry) => [entry['device'], entry]));
  listOf(value['filesystems']).forEach((entry, i) => {
    const found = disks.get(entry['device']);
    if (found === undefined) return;
    if (listOf(found['partitions']).length > 0) {
      findings.warning(FINDING.PARTITIONS_OVERWRITTEN, 'filesystems', i, 'device');
    } else if (entry['wipeFilesystem'] !== true && found['wipeTable'] === true) {
      findings.warning(FINDING.IMPLICIT_WIPE, 'filesystems', i, 'device');
    }
  });
}

function raid(value: IgnitionObject, findings: Findings): void {
  findings.error(levelRule(value, findings), 'level');
  if (listOf(value['devices']).length === 0) findings.error(FINDING.RAID_DEVICES, 'devices');
}

function levelRule(value: IgnitionObject, findings: Findings): string | undefined {
  const level = textOf(value['level']);
  if ((level === undefined || level === '') && findings.minor >= 3) {
    return FINDING.RAID_LEVEL_REQUIRED;
  }
  const spares = value['spares'] as number | undefined;
  if (['linear', 'raid0', '0', 'stripe'].includes(level ?? '')) {
    return spares !== undefined && spares !== 0 ? FINDING.RAID_SPARES : undefined;
  }
  const redundant = /^(raid)?(1|4|5|6|10)$|^mirror$/;
  return redundant.test(level ?? '') ? undefined : FINDING.RAID_LEVEL;
}

function luks(value: IgnitionObject, findings: Findings): void {
  const { minor } = findings;
  if (wordOf(value['name']).includes('/')) findings.error(FINDING.LUKS_NAME, 'name');
  if (Buffer.byteLength(textOf(value['label']) ?? '') > 47)
    findings.error(FINDING.LUKS_LABEL, 'label');
  const device = textOf(value['device']);
  const missing = device === undefined || device === '';
  findings.error(missing ? FINDING.DISK_DEVICE : pathRule(device), 'device');
  const clevis = structOf(value['clevis']);
  const custom = minor >= 3 ? filled(structOf(clevis['custom'])['pin']) : filled(clevis['custom']);
  const threshold = clevis['threshold'] as number | undefined;
  const pins =
    listOf(clevis['tang']).length > 0 ||
    clevis['tpm2'] === true ||
    (threshold !== undefined && threshold !== 0);
  if (custom && pins) findings.error(FINDING.CLEVIS_CUSTOM, 'clevis');
  const keyFile = textOf(structOf(value['keyFile'])['source']);
  if (optionalUrlRule(keyFile, minor) !== undefined) findings.error(FINDING.LUKS_KEY_FILE, 'keys');
  if (structOf(value['cex'])['enabled'] !== true) return;
  if (pins || custom) findings.error(FINDING.CEX_WITH_CLEVIS, 'cex');
  if (filled(keyFile)) findings.error(FINDING.CEX_WITH_KEY_FILE, 'cex');
}

const PINS = ['tpm2', 'tang', 'sss'];

function clevisCustom(value: IgnitionObject, findings: Findings): void {
  const [pin, config] = [textOf(value['pin']) ?? '', textOf(value['config']) ?? ''];
  if (pin === '' && config === '' && value['needsNetwork'] !== true) return;
  if (pin === '') findings.error(FINDING.CLEVIS_PIN_REQUIRED, 'pin');
  else if (!PINS.includes(pin)) findings.error(FINDING.CLEVIS_PIN, 'pin');
  if (config === '') findings.error(FINDING.CLEVIS_CONFIG, 'config');
}

/** The same before 3.3. */
function custom(value: IgnitionObject, findings: Findings): void {
  if (value['pin'] === '' && value['config'] === '') return;
  if (!PINS.includes(wordOf(value['pin']))) findings.error(FINDING.CLEVIS_PIN, 'pin');
  if (value['config'] === '') findings.error(FINDING.CLEVIS_CONFIG, 'config');
}

function tang(value: IgnitionObject, findings: Findings): void {
  const url = parseGoUrl(textOf(value['url']) ?? '');
  const known = url?.scheme === 'http' || url?.scheme === 'https';
  findings.error(url === undefined ? FINDING.URL : known ? undefined : FINDING.SCHEME, 'url');
  if (!filled(value['thumbprint'])) findings.error(FINDING.TANG_THUMBPRINT, 'thumbprint');
  const advertisement = textOf(value['advertisement']);
  if (advertisement === undefined || advertisement === '') return;
  if (!isJson(advertisement)) findings.error(FINDING.TANG_ADVERTISEMENT, 'advertisement');
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** `Storage` has only the rules for filesystems; those for nodes are with the nodes. */
export const DISK_RULES: Readonly<Record<string, Rule>> = {
  Storage: storage,
  Disk: disk,
  Partition: partition,
  Filesystem: filesystem,
  Raid: raid,
  Luks: luks,
  ClevisCustom: clevisCustom,
  Custom: custom,
  Tang: tang,
};
