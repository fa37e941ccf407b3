/**
 * Users and groups that Ignition cannot create: the machine would end its first boot in an
 * emergency shell.
 */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { HIGHEST_ID, NO_NAME } from './admission-owners';
import type { AdmissionProblem, Report } from './admission-problem';
import { isPasswordHash } from './password-hash';
import type { Source } from './source';

export function reportAccounts(config: IgnitionObject, report: Report): void {
  const passwd = structOf(config['passwd']);
  listOf(passwd['users']).forEach((user, i) => {
    const field = `spec.config.passwd.users[${i}]`;
    reportNewName(user, 'user', `${field}.name`, report);
    reportGroups(user, field, report);
    if (isWanted(user)) {
      reportFields(user, field, report);
      reportId(user, 'user', `${field}.uid`, report);
    }
    if (isPasswordHash(wordOf(user['passwordHash'] ?? ''))) return;
    report(
      `${field}.passwordHash`,
      'it has a colon or a control character, which no hash has',
      'make it with mkpasswd',
    );
  });
  listOf(passwd['groups']).forEach((group, i) => {
    const field = `spec.config.passwd.groups[${i}]`;
    reportNewName(group, 'group', `${field}.name`, report);
    if (isWanted(group)) reportId(group, 'group', `${field}.gid`, report);
  });
}

/** Of an account that should not exist Ignition reads only the name. */
function isWanted(account: IgnitionObject): boolean {
  return account['shouldExist'] !== false;
}

/** Characters that end a field of `/etc/passwd`, or cannot be passed to a program. */
const NO_FIELD = /[:\n\0]/;

/** The rules of useradd and usermod; Ignition does not pass an empty text to them. */
const FIELDS: readonly (readonly [key: string, start: RegExp, what: string, fix: string])[] = [
  ['gecos', /^/, '', 'leave these out, or write a comma'],
  ['homeDir', /^(?:\/|$)/, 'it is not absolute', 'write the whole path, beginning with a slash'],
  // useradd accepts an asterisk for "no shell".
  ['shell', /^(?:[/*]|$)/, 'it is not absolute', 'write the whole path, beginning with a slash'],
];

function reportFields(user: IgnitionObject, field: string, report: Report): void {
  for (const [key, start, what, fix] of FIELDS) {
    const text = wordOf(user[key] ?? '');
    const isField = !NO_FIELD.test(text);
    if (isField && start.test(text)) continue;
    const why = isField ? what : 'it has a colon, a line break or a zero byte';
    report(`${field}.${key}`, `Ignition cannot make the user: ${why}`, fix);
  }
}

const ID_KEYS = { user: 'uid', group: 'gid' } as const;

/** Every host has root, and no second account with its ID. */
function reportId(account: IgnitionObject, kind: Kind, field: string, report: Report): void {
  const id = account[ID_KEYS[kind]];
  if (typeof id !== 'number') return;
  if (id < 0 || id > HIGHEST_ID) {
    const fix = `use a number from 1 to ${HIGHEST_ID}, or leave it out`;
    report(field, `no host can have a ${kind} with the ID ${id}`, fix);
  } else if (id === 0 && account['name'] !== 'root') {
    report(field, `the ${kind} root has the ID 0 on every host`, 'choose another, or leave it out');
  }
}

/** Accounts of the merged config with one ID: Ignition creates only the first. */
export function sharedIdProblems(
  merged: IgnitionObject,
  sources: readonly Source[],
): readonly AdmissionProblem[] {
  return (['user', 'group'] as const).flatMap((kind) => {
    const withId = accountsOf(merged, kind).filter(
      (account) => isWanted(account) && Number(account[ID_KEYS[kind]] ?? 0) !== 0,
    );
    return withId.flatMap((account, at) => {
      const id = account[ID_KEYS[kind]];
      const other = withId.slice(0, at).find((one) => one[ID_KEYS[kind]] === id);
      if (other === undefined) return [];
      const { machineConfig, field } = placeOfId(account, kind, sources);
      const whose = `${wordOf(other['name'])} of MachineConfig ${placeOfId(other, kind, sources).machineConfig}`;
      const problem = `the ${kind} ${whose} has the ID ${String(id)}, too`;
      return [{ machineConfig, field, problem, fix: 'give one of them another' }];
    });
  });
}

function placeOfId(
  account: IgnitionObject,
  kind: Kind,
  sources: readonly Source[],
): Pick<AdmissionProblem, 'machineConfig' | 'field'> {
  const key = ID_KEYS[kind];
  const places = sources.flatMap((source) =>
    accountsOf(source.ignition() ?? {}, kind).flatMap((one, i) =>
      one['name'] === account['name'] && one[key] !== undefined
        ? [{ machineConfig: source.name, field: `spec.config.passwd.${kind}s[${i}].${key}` }]
        : [],
    ),
  );
  return places.at(-1) ?? { machineConfig: '', field: '' };
}

function accountsOf(config: IgnitionObject, kind: Kind): readonly IgnitionObject[] {
  return listOf(structOf(config['passwd'])[`${kind}s`]);
}

/** Groups of a user must exist, and may be named by their IDs. */
function reportGroups(user: IgnitionObject, field: string, report: Report): void {
  const primary = wordOf(user['primaryGroup'] ?? '');
  if (primary !== '') reportName(primary, 'group', `${field}.primaryGroup`, report);
  const { groups } = user;
  if (!Array.isArray(groups)) return;
  groups.forEach((group: unknown, i) => {
    if (typeof group === 'string') reportName(group, 'group', `${field}.groups[${i}]`, report);
  });
}

type Kind = 'user' | 'group';

const DIGITS = /^\d+$/;

/** Older hosts refuse users of more than 32 bytes, too. */
const NAME_BYTES = { user: 255, group: 32 } as const;

/** A name of digits only would be an ID. */
function reportNewName(account: IgnitionObject, kind: Kind, field: string, report: Report): void {
  const name = wordOf(account['name'] ?? '');
  const bytes = Buffer.byteLength(name);
  const most = NAME_BYTES[kind];
  if (bytes > most) {
    const problem = `a name of ${bytes} bytes is too long: no host takes more than ${most} for a ${kind}`;
    report(field, problem, `shorten it to ${most} bytes`);
  } else if (DIGITS.test(name)) report(field, ...refusal(name, kind));
  else reportName(name, kind, field, report);
}

function reportName(name: string, kind: Kind, field: string, report: Report): void {
  const isName = /^(?!-|\.{1,2}$)./.test(name) && !NO_NAME.test(name);
  if (!isName) report(field, ...refusal(name, kind));
}

function refusal(name: string, kind: Kind): readonly [problem: string, fix: string] {
  return [
    `no host can have a ${kind} of the name ${JSON.stringify(name)}`,
    'use letters, digits, - and _, not only digits, and no - at the start',
  ];
}
