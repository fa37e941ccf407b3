/**
 * Ignition's rules for structs of specification 3. The order of findings within a rule is visible
 * in reports.
 *
 * @see MCO vendor/github.com/coreos/ignition/v2/config/v3_5/types (7ff337a4)
 */

import { cleanPath } from '../encoding/go-path';
import { parseGoUrl } from '../encoding/go-url';
import { DISK_RULES } from './rules-disks';
import { listOf, structOf, textOf, type Findings, type Rule } from './rules';
import { FINDING } from './rules-text';
import {
  extension,
  hashRule,
  modeRule,
  optionalUrlRule,
  pathRule,
  requiredUrlRule,
  specialBitsRule,
  unitNameRule,
  urlRule,
} from './rules-values';
import { wordOf, type IgnitionObject } from './schema';
import { parseVersion, sameVersion } from './semver';
import { readUnitContents } from './unit-contents';

function isEmpty(value: unknown): boolean {
  return value === undefined || value === '';
}

const SYSTEMD = '/etc/systemd/system/';

/** Files of units; no other entry may have these paths. */
function config(value: IgnitionObject, findings: Findings): void {
  const taken = new Set<string>();
  for (const unit of listOf(structOf(value['systemd'])['units'])) {
    const name = wordOf(unit['name']);
    if (!isEmpty(unit['contents'])) taken.add(SYSTEMD + name);
    for (const dropin of listOf(unit['dropins'])) {
      if (isEmpty(dropin['contents'])) continue;
      taken.add(`${SYSTEMD}${name}.d/${wordOf(dropin['name'])}`);
    }
  }
  if (taken.size === 0) return;
  const storage = structOf(value['storage']);
  for (const kind of ['files', 'directories', 'links']) {
    listOf(storage[kind]).forEach((node, i) => {
      if (!taken.has(wordOf(node['path']))) return;
      findings.error(FINDING.SYSTEMD_PATH, 'storage', kind, i, 'path');
    });
  }
}

function ignition(value: IgnitionObject, findings: Findings): void {
  const version = parseVersion(wordOf(value['version']));
  if (version === undefined) findings.error(FINDING.INVALID_VERSION, 'version');
  else if (!sameVersion(version, { major: 3, minor: findings.minor })) {
    findings.error(FINDING.UNKNOWN_VERSION, 'version');
  }
}

function ignitionConfig(value: IgnitionObject, findings: Findings): void {
  if (findings.minor === 0) return;
  listOf(value['merge']).forEach((resource, i) => {
    findings.error(requiredUrlRule(textOf(resource['source']), findings.minor), 'merge', i);
  });
}

function tls(value: IgnitionObject, findings: Findings): void {
  if (findings.minor === 0) return;
  listOf(value['certificateAuthorities']).forEach((resource, i) => {
    const message = requiredUrlRule(textOf(resource['source']), findings.minor);
    findings.error(message, 'certificateAuthorities', i);
  });
}

function resource(value: IgnitionObject, findings: Findings): void {
  const compression = textOf(value['compression']);
  if (compression !== undefined && compression !== '' && compression !== 'gzip') {
    findings.error(FINDING.COMPRESSION, 'compression');
  }
  const source = textOf(value['source']);
  const hash = structOf(value['verification'])['hash'];
  if (hash !== undefined && source === undefined) {
    findings.error(FINDING.VERIFICATION_WITHOUT_SOURCE, 'verification', 'hash');
  }
  findings.error(optionalUrlRule(source, findings.minor), 'source');
  if (listOf(value['httpHeaders']).length > 0) {
    findings.error(headerSchemeRule(source), 'httpHeaders');
  }
}

function headerSchemeRule(source: string | undefined): string | undefined {
  const url = source === undefined || source === '' ? undefined : parseGoUrl(source);
  if (url === undefined) return FINDING.URL;
  return url.scheme === 'http' || url.scheme === 'https' ? undefined : FINDING.HEADER_SCHEME;
}

function header(value: IgnitionObject, findings: Findings): void {
  if (value['name'] === '') findings.error(FINDING.HEADER_NAME, 'name');
  if (value['value'] === '') findings.error(FINDING.HEADER_VALUE, 'value');
}

function proxy(value: IgnitionObject, findings: Findings): void {
  for (const name of ['httpProxy', 'httpsProxy']) {
    const text = textOf(value[name]);
    if (text === undefined) continue;
    const url = parseGoUrl(text);
    if (url === undefined) findings.error(FINDING.URL, name);
    else if (url.scheme !== 'http' && url.scheme !== 'https') findings.error(FINDING.PROXY, name);
    else if (url.scheme === 'http' && name === 'httpsProxy') {
      findings.warning(FINDING.PROXY_INSECURE, name);
    }
  }
}

function node(value: IgnitionObject, findings: Findings): void {
  findings.error(pathRule(wordOf(value['path'])), 'path');
}

function modes(value: IgnitionObject, findings: Findings): void {
  const mode = value['mode'] as number | undefined;
  findings.error(modeRule(mode), 'mode');
  findings.warning(specialBitsRule(mode), 'mode');
}

function file(value: IgnitionObject, findings: Findings): void {
  node(value, findings);
  modes(value, findings);
  if (value['overwrite'] === true && structOf(value['contents'])['source'] === undefined) {
    findings.error(FINDING.OVERWRITE_WITHOUT_SOURCE, 'overwrite');
  }
}

function directory(value: IgnitionObject, findings: Findings): void {
  node(value, findings);
  modes(value, findings);
}

function owner(value: IgnitionObject, findings: Findings): void {
  if (value['id'] !== undefined && !isEmpty(value['name'])) findings.error(FINDING.ID_AND_NAME);
}

function storage(value: IgnitionObject, findings: Findings): void {
  const links = listOf(value['links']);
  const under = (path: unknown): number =>
    links.filter((link) => String(path).startsWith(`${wordOf(link['path'])}/`)).length;
  const kinds = [
    ['directories', FINDING.DIRECTORY_UNDER_LINK],
    ['files', FINDING.FILE_UNDER_LINK],
  ] as const;
  for (const [kind, message] of kinds) {
    if (links.length === 0) break;
    listOf(value[kind]).forEach((entry, i) => {
      for (let n = under(entry['path']); n > 0; n--) findings.error(message, kind, i);
    });
  }
  links.forEach((link, i) => {
    for (let n = under(link['path']); n > 0; n--)
      findings.error(FINDING.LINK_UNDER_LINK, 'links', i);
    linkTarget(link, i, listOf(value['directories']), findings);
  });
  DISK_RULES.Storage?.(value, findings);
}

function linkTarget(
  link: IgnitionObject,
  index: number,
  directories: readonly IgnitionObject[],
  findings: Findings,
): void {
  const target = textOf(link['target']) ?? '';
  if (target === '' && findings.minor >= 3) {
    findings.error(FINDING.LINK_TARGET, 'links', index, 'target');
    return;
  }
  if (link['hard'] !== true) return;
  const absolute = target.startsWith('/') ? target : `${wordOf(link['path'])}/${target}`;
  for (const entry of directories) {
    if (cleanPath(absolute) === entry['path']) {
      findings.error(FINDING.HARD_LINK_TO_DIRECTORY, 'links', index);
    }
  }
  for (const [kind, key] of [
    ['user', 'id'],
    ['user', 'name'],
    ['group', 'id'],
    ['group', 'name'],
  ] as const) {
    if (structOf(link[kind])[key] === undefined) continue;
    findings.warning(FINDING.HARD_LINK_OWNER, 'links', index, kind, key);
  }
}

function systemd(value: IgnitionObject, findings: Findings): void {
  const units = new Map(listOf(value['units']).map((entry) => [entry['name'], entry]));
  listOf(value['units']).forEach((entry, i) => {
    const name = wordOf(entry['name']);
    const instance = /^(.+?)@(.+?)\.service$/s.exec(name);
    if (instance === null || entry['enabled'] !== true) return;
    const template = `${instance[1] ?? ''}@.service`;
    const contents = textOf(units.get(template)?.['contents']);
    if (contents === undefined || contents === '') return;
    const read = readUnitContents(contents);
    if (read.error !== undefined || read.sections.has('Install')) return;
    const message = `template unit ${JSON.stringify(template)} for ${JSON.stringify(name)} doesn't have Install section`;
    findings.warning(message, 'units', i, 'contents');
  });
}

function unit(value: IgnitionObject, findings: Findings): void {
  const name = wordOf(value['name']);
  findings.error(unitNameRule(name), 'name');
  const contents = textOf(value['contents']);
  const read = readUnitContents(contents);
  if (read.error !== undefined) {
    findings.error(read.error, 'contents');
    return;
  }
  if (value['enabled'] !== true || isEmpty(contents) || read.sections.has('Install')) return;
  findings.warning(
    `unit ${JSON.stringify(name)} is enabled, but has no install section so enable does nothing`,
    'contents',
  );
}

function dropin(value: IgnitionObject, findings: Findings): void {
  findings.error(readUnitContents(textOf(value['contents'])).error, 'contents');
  if (extension(wordOf(value['name'])) !== '.conf') findings.error(FINDING.DROPIN_NAME, 'name');
}

/** Rules by Go name of the struct. */
export const RULES: Readonly<Record<string, Rule>> = {
  ...DISK_RULES,
  Config: config,
  Ignition: ignition,
  IgnitionConfig: ignitionConfig,
  TLS: tls,
  Resource: resource,
  FileContents: resource,
  ConfigReference: (value, findings) => {
    findings.error(optionalUrlRule(textOf(value['source']), 0), 'source');
  },
  CaReference: (value, findings) => {
    findings.error(urlRule(wordOf(value['source']), 0), 'source');
  },
  HTTPHeader: header,
  Proxy: proxy,
  Verification: (value, findings) => {
    findings.error(hashRule(textOf(value['hash']), findings.minor), 'hash');
  },
  File: file,
  Directory: directory,
  Link: node,
  NodeUser: owner,
  NodeGroup: owner,
  Storage: storage,
  Systemd: systemd,
  Unit: unit,
  Dropin: dropin,
};

/** Rules for the strings of a list, by Go type of the list. */
export const ELEMENT_RULES: Readonly<Record<string, (value: string) => string | undefined>> = {
  '[]types.Device': pathRule,
};
