/** systemd's rules for units, as far as names and texts decide them. */

export { enablingProblem } from './enabling';
export {
  decisiveLinks,
  enablingLinks,
  linkedUnit,
  UNIT_DIRECTORY,
  type EnablingLinks,
} from './enabling-links';
export { parseInstallSection, type InstallSection } from './install-section';
export {
  isPlainName,
  isTemplateName,
  isUnitName,
  templateOf,
  UNIT_NAME_BYTES,
  unitType,
} from './unit-name';
