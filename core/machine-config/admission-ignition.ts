/** Ignition's own refusals, each with its fix. */

import { SUPPORTED_VERSIONS, type Finding } from '../ignition';
import { configField, type Report } from './admission-problem';

const FIXES: readonly (readonly [RegExp, string])[] = [
  [/^path not absolute/, 'begin the path with a slash'],
  [/^path not specified/, 'give an absolute path'],
  [
    /^path is not fully simplified/,
    'remove doubled slashes, trailing slashes, "." and ".." from it',
  ],
  [/^duplicate entry/, 'keep one of the entries'],
  [/^overwrite must be false/, 'add contents.source ("data:," for an empty file)'],
  [/^illegal file mode/, 'write the permission bits as a decimal number between 0 and 511'],
  [
    /^invalid systemd unit extension/,
    'end the name with .service, .socket, .timer or another unit type',
  ],
  [/^invalid systemd drop-in extension/, 'end the name with .conf'],
  [/^invalid unit content/, 'correct the unit file: sections in brackets, then lines name=value'],
  [/^invalid compression/, 'use compression "gzip" or leave it out'],
  [
    /base64|data|media type|parameter|rfc2396/,
    'write the contents as a data URL: data:;base64,<contents>',
  ],
  [/url/, 'write the contents as a data URL: data:;base64,<contents>'],
  [/hash/, 'write the hash as sha512-<128 hexadecimal digits> or sha256-<64>'],
  [/^cannot set both id and name/, 'keep either id or name'],
  [/includes link in config/, 'write the path that the link points to'],
  [/^path conflicts with systemd/, 'put the contents into the unit only, or into the file only'],
  [/^link target is required/, 'add the target'],
  [/^json: cannot unmarshal/, 'give the field a value of the type that the message names'],
];

const GENERAL = 'correct it as the Ignition specification says';

/** Reports all findings; returns their fields. */
export function reportFindings(findings: readonly Finding[], report: Report): readonly string[] {
  return findings.map(({ path, message }) => {
    const field = configField(path);
    const fix = FIXES.find(([pattern]) => pattern.test(message))?.[1] ?? GENERAL;
    report(field, message, fix);
    return field;
  });
}

export function reportVersion(config: Readonly<Record<string, unknown>>, report: Report): void {
  const { ignition } = config;
  const version =
    typeof ignition === 'object' && ignition !== null && 'version' in ignition
      ? ignition.version
      : undefined;
  if (version === undefined || version === '') {
    const fix = 'add it: ignition: {version: 3.5.0}';
    report('spec.config.ignition.version', 'the version of the config is missing', fix);
    return;
  }
  report(
    'spec.config.ignition.version',
    `version ${JSON.stringify(version)} is not known`,
    `use 3.5.0 (known: ${SUPPORTED_VERSIONS.replaceAll(',', ', ')})`,
  );
}
