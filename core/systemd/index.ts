/** systemd's rules for units, as far as names and texts decide them. */

export { enablingProblem } from './enabling';
export { decisiveLinks, enablingLinks, linkedUnit, UNIT_DIRECTORY } from './enabling-links';
export { parseInstallSection, type InstallSection } from './install-section';
export { isTemplateName, isUnitName, templateOf } from './unit-name';
