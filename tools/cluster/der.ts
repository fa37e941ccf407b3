/**
 * The part of DER (ITU-T X.690) that X.509 certificates are written in: each value is a tag, the
 * length of its content, and the content.
 */

function tagged(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(body.length)]), body]);
}

function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) bytes.unshift(rest & 0xff);
  return [0x80 | bytes.length, ...bytes];
}

export function sequence(...items: readonly Buffer[]): Buffer {
  return tagged(0x30, ...items);
}

export function set(...items: readonly Buffer[]): Buffer {
  return tagged(0x31, ...items);
}

/** A non-negative integer from its big-endian bytes. */
export function integer(bytes: Buffer): Buffer {
  // A leading bit of 1 would make it negative.
  const needsZero = ((bytes[0] ?? 0) & 0x80) !== 0 || bytes.length === 0;
  return tagged(0x02, needsZero ? Buffer.from([0]) : Buffer.alloc(0), bytes);
}

/** From dotted form: `2.5.4.3`. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return tagged(0x06, Buffer.from(bytes));
}

function base128(value: number): readonly number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}

export function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

export function octetString(content: Buffer): Buffer {
  return tagged(0x04, content);
}

/** `unusedBits` are the ones at the end that carry nothing. */
export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return tagged(0x03, Buffer.from([unusedBits]), content);
}

export function utf8String(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text, 'utf8'));
}

/** To the second; for years up to 2049, as RFC 5280 wants it. */
export function utcTime(instant: Date): Buffer {
  const digits = instant.toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`, 'latin1'));
}

/** `[number]` around a value. */
export function explicitlyTagged(number: number, content: Buffer): Buffer {
  return tagged(0xa0 | number, content);
}

/** `[number]` instead of a value's own tag. */
export function implicitlyTagged(number: number, content: Buffer): Buffer {
  return tagged(0x80 | number, content);
}
