/** `passwordHash` of a user, a field of `/etc/shadow`. */

/** A colon or a line break would write other fields and other users. */
export function isPasswordHash(text: string): boolean {
  // eslint-disable-next-line no-control-regex -- these are what is looked for
  return !/[:\u0000-\u001f\u007f]/.test(text);
}
