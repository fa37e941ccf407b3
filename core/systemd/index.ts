/** What systemd makes of units, as far as it can be told from their names and texts. */

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
