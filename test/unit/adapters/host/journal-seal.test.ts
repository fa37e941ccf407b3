import { encodeEntry, FIRST_CHECKSUM, readLog } from '../../../../adapters/host/journal-log';
import {
  encodeSeal,
  readSeal,
  type Seal,
  SEAL_BYTES,
} from '../../../../adapters/host/journal-seal';

const aSeal = (count: number, more: Partial<Seal> = {}): Seal => ({
  count,
  length: 100 * count,
  checksum: 'c'.repeat(64),
  isClosed: false,
  ...more,
});

function written(...seals: readonly Seal[]): Buffer {
  const file = Buffer.alloc(SEAL_BYTES);
  for (const seal of seals) {
    const { offset, bytes } = encodeSeal(seal);
    bytes.copy(file, offset);
  }
  return file;
}

describe('the seal of a journal', () => {
  it('is the newest one', () => {
    expect(readSeal(written(aSeal(4), aSeal(5)))).toEqual(aSeal(5));
    expect(readSeal(written(aSeal(5), aSeal(6, { isClosed: true })))).toEqual(
      aSeal(6, { isClosed: true }),
    );
    expect(readSeal(written(aSeal(0, { length: 0, checksum: '' })))).toMatchObject({ length: 0 });
  });

  it('is the one before when the newest was cut off while it was written', () => {
    const file = written(aSeal(4), aSeal(5));
    for (let at = 0; at < 512; at += 1) {
      const torn = Buffer.from(file);
      torn[at] = (torn[at] ?? 0) ^ 1;
      expect(readSeal(torn)).toEqual(aSeal(5));
    }
    expect(readSeal(Buffer.from(file).fill(0, 512))).toEqual(aSeal(4));
  });

  it('is none when both are damaged, or the file is too short', () => {
    expect(readSeal(Buffer.alloc(SEAL_BYTES, 'slipway '))).toBeUndefined();
    expect(readSeal(written(aSeal(4), aSeal(5)).subarray(0, 40))).toBeUndefined();
  });
});

describe('a log under a seal', () => {
  const first = encodeEntry({ type: 'begin', version: 1, header: {} }, FIRST_CHECKSUM);
  const second = encodeEntry({ type: 'mark', mark: 'applied' }, first.checksum);
  const [one, both] = [Buffer.from(first.line), Buffer.from(first.line + second.line)];
  const sealed = { length: one.length, checksum: first.checksum };

  it('may end in whatever an unfinished append left, whole sectors out of order too', () => {
    const noise = Buffer.concat([one, Buffer.alloc(600, 'x'), Buffer.from('\n{"type"\n')]);

    expect(readLog(noise, sealed)).toMatchObject({ length: one.length, torn: true });
    expect(readLog(both, sealed)).toMatchObject({ length: both.length, torn: false });
  });

  it('misses what was sealed and is gone', () => {
    const all = { length: both.length, checksum: second.checksum };

    expect(readLog(one, all)).toEqual({
      fault: `${both.length} bytes were written, ${one.length} of them are left`,
    });
    expect(readLog(Buffer.alloc(0), all)).toHaveProperty('fault');
    expect(readLog(both, { ...all, checksum: first.checksum })).toEqual({
      fault: 'its last entry is not the one that was written',
    });
  });
});
