/** Invalid units and unit names. An empty unit does nothing, as in MCO. */

import { listOf, structOf, wordOf, type IgnitionObject } from '../ignition';
import { isOwnService } from '../names';
import { isUnitName } from '../systemd';
import { INSTALL_FIX, installProblem } from './admission-install';
import { reportNameLength } from './admission-lengths';
import type { Report } from './admission-problem';

export function reportUnits(config: IgnitionObject, report: Report): void {
  listOf(structOf(config['systemd'])['units']).forEach((unit, i) => {
    const field = `spec.config.systemd.units[${i}]`;
    const dropins = listOf(unit['dropins']);
    reportUnitName(unit, field, report);
    reportOwnUnit(unit, field, report);
    const refused = installProblem(unit);
    if (refused !== undefined) {
      report(`${field}.contents`, `systemctl does not enable the unit: ${refused}`, INSTALL_FIX);
    }
    dropins.forEach((dropin, d) => {
      reportDropin(dropin, `${field}.dropins[${d}]`, report);
    });
  });
}

function reportOwnUnit(unit: IgnitionObject, field: string, report: Report): void {
  if (!isOwnService(wordOf(unit['name']))) return;
  const problem = 'without it no update could reach the machine or roll back';
  if (unit['mask'] === true) report(`${field}.mask`, problem, 'do not mask it');
  if (unit['enabled'] === false) report(`${field}.enabled`, problem, 'leave it enabled');
}

function reportUnitName(unit: IgnitionObject, field: string, report: Report): void {
  const name = wordOf(unit['name']);
  if (reportFileName(name, field, report)) return;
  const isStamped = (unit['contents'] ?? '') !== '' || unit['mask'] !== undefined;
  const hasDropins = listOf(unit['dropins']).length > 0;
  const added = isStamped ? 'stamp' : hasDropins ? 'dropins' : 'nothing';
  if (reportNameLength(name, added, `${field}.name`, report) || isUnitName(name)) return;
  report(
    `${field}.name`,
    `systemd takes ${JSON.stringify(name)} for no name of a unit`,
    'use letters, digits and :-_.\\@ (systemd-escape writes others so), no @ at the start, and end with .service or another type',
  );
}

function reportDropin(dropin: IgnitionObject, field: string, report: Report): void {
  const name = wordOf(dropin['name']);
  if (!reportFileName(name, field, report)) {
    reportNameLength(name, 'stamp', `${field}.name`, report);
  }
}

function reportFileName(name: string, field: string, report: Report): boolean {
  const hasSlashes = name.includes('/');
  if (!hasSlashes && !name.includes('\0')) return false;
  const problem = 'a unit or drop-in name must be a plain file name';
  const fix = hasSlashes
    ? 'remove the slashes and what stands before them'
    : 'remove the zero bytes';
  report(`${field}.name`, problem, fix);
  return true;
}
