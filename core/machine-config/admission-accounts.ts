/** Users and groups that Ignition could not make: the machine would end its first boot in an emergency shell. */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { NO_NAME } from './admission-owners';
import type { Report } from './admission-problem';
import { isPasswordHash } from './password-hash';

export function reportAccounts(config: IgnitionObject, report: Report): void {
  const passwd = structOf(config['passwd']);
  listOf(passwd['users']).forEach((user, i) => {
    const field = `spec.config.passwd.users[${i}]`;
    reportNewName(user, 'user', `${field}.name`, report);
    reportGroups(user, field, report);
    if (isPasswordHash(wordOf(user['passwordHash'] ?? ''))) return;
    report(
      `${field}.passwordHash`,
      'it has a colon or a control character, which no hash has',
      'make it with mkpasswd',
    );
  });
  listOf(passwd['groups']).forEach((group, i) => {
    reportNewName(group, 'group', `spec.config.passwd.groups[${i}].name`, report);
  });
}

/** Those of a user are there already, and may be named by their IDs. */
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

/** Only digits would be an ID. */
function reportNewName(account: IgnitionObject, kind: Kind, field: string, report: Report): void {
  const name = wordOf(account['name'] ?? '');
  if (DIGITS.test(name)) report(field, ...refusal(name, kind));
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
