import fc from 'fast-check';

import { oneLine, shortLine } from '../../../../core/encoding/one-line';
import { brief } from '../../../../workflows/contracts/timeouts';

const ROOM = { characters: 20, jsonBytes: 30 };
const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text));

describe('oneLine', () => {
  it.each([
    ['a sentence', 'waiting for pod shop/cart', 'waiting for pod shop/cart'],
    ['several lines', 'one\r\n two\n', 'one two'],
    ['control characters', '\u0000bell\u0007\u001b[31m\u009bx\u2028y\u007f', 'bell [31m x y'],
    ['half a character', 'a\ud83d', 'a\ufffd'],
    ['other scripts', 'Wartung: 计划维护 😀', 'Wartung: 计划维护 😀'],
    ['nothing that shows', '\u0007\u00a0\u0000', ''],
  ])('%s', (_, text, line) => {
    expect(oneLine(text)).toBe(line);
  });
});

describe('shortLine', () => {
  it.each([
    ['what has room stays', 'x'.repeat(20), 'x'.repeat(20)],
    ['one character too many', 'x'.repeat(21), `${'x'.repeat(19)}…`],
    ['bytes count', '护'.repeat(15), `${'护'.repeat(8)}…`],
    ['no character is halved', '😀'.repeat(9), `${'😀'.repeat(6)}…`],
    ['escapes count', '"'.repeat(20), `${'"'.repeat(12)}…`],
  ])('%s', (_, text, short) => {
    expect(shortLine(text, ROOM)).toBe(short);
  });

  it('never needs more than its room, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const short = shortLine(text, ROOM);
        expect(short.length).toBeLessThanOrEqual(ROOM.characters);
        expect(jsonBytes(short)).toBeLessThanOrEqual(ROOM.jsonBytes);
      }),
    );
  });
});

describe('a summary for Temporal, which takes 400 bytes', () => {
  it.each([
    ['control characters', '\u0001'.repeat(200)],
    ['quotes', '"'.repeat(200)],
    ['other scripts', '护'.repeat(200)],
    ['pairs', '😀'.repeat(200)],
    ['half characters', '\ud83d'.repeat(200)],
  ])('fits with %s', (_, text) => {
    // The server counts the payload with the name of its encoding.
    expect(jsonBytes(brief(`paused: ${text}`)) + 30).toBeLessThanOrEqual(400);
  });

  it('is what it was for a plain sentence', () => {
    expect(brief('look at pool worker')).toBe('look at pool worker');
    expect(brief('x'.repeat(121))).toBe(`${'x'.repeat(119)}…`);
  });
});
