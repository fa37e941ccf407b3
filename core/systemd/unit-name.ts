/** Names that systemd accepts for units. */

/** The longest name of a unit, in bytes. */
const UNIT_NAME_BYTES = 255;

const TYPES = 'service|socket|target|device|mount|automount|swap|timer|path|slice|scope';

/** Only these characters, something before an at sign, and one of the suffixes. */
const NAME = new RegExp(`^(?!@)[A-Za-z0-9:_.\\\\@-]+\\.(${TYPES})$`);

/**
 * A plain unit, a template or an instance.
 *
 * @see systemd src/basic/unit-name.c, unit_name_is_valid
 */
export function isUnitName(name: string): boolean {
  return NAME.test(name) && Buffer.byteLength(name) <= UNIT_NAME_BYTES;
}

/** `service` of `a.service`. */
export function unitType(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** `getty@.service`. */
export function isTemplateName(name: string): boolean {
  return name.indexOf('@') === name.lastIndexOf('.') - 1;
}

/** `tty1` of `getty@tty1.service`, empty for a template; undefined for a plain unit. */
export function instanceOf(name: string): string | undefined {
  const at = name.indexOf('@');
  return at === -1 ? undefined : name.slice(at + 1, name.lastIndexOf('.'));
}

/** `getty@.service` of `getty@tty1.service`; undefined for other units. */
export function templateOf(name: string): string | undefined {
  const instance = instanceOf(name) ?? '';
  return instance === '' ? undefined : `${name.slice(0, name.indexOf('@'))}@.${unitType(name)}`;
}

/** Neither a template nor an instance of one. */
export function isPlainName(name: string): boolean {
  return !name.includes('@');
}
