import {
  encodeEntry,
  FIRST_CHECKSUM,
  type JournalEntry,
  readLog,
} from '../../../../adapters/host/journal-log';

const ENTRIES: readonly JournalEntry[] = [
  { type: 'begin', version: 1, header: { orderId: 'a' } },
  { type: 'before', path: '/etc/a', image: { kind: 'absent' } },
  { type: 'mark', mark: { kind: 'applied' } },
];

function aLog(entries = ENTRIES): Buffer {
  let checksum = FIRST_CHECKSUM;
  const lines = entries.map((entry) => {
    const encoded = encodeEntry(entry, checksum);
    checksum = encoded.checksum;
    return encoded.line;
  });
  return Buffer.from(lines.join(''));
}

describe('the log of the journal', () => {
  it('reads what was written', () => {
    expect(readLog(aLog())).toMatchObject({ entries: ENTRIES, length: aLog().length, torn: false });
    expect(readLog(Buffer.alloc(0))).toMatchObject({ entries: [], length: 0, torn: false });
  });

  it('drops an append that was cut off at any byte, and nothing before it', () => {
    const whole = aLog();
    const two = aLog(ENTRIES.slice(0, 2));
    for (let length = two.length + 1; length < whole.length; length++) {
      expect(readLog(whole.subarray(0, length))).toMatchObject({
        entries: ENTRIES.slice(0, 2),
        length: two.length,
        torn: true,
      });
    }
  });

  it('drops blocks that were reserved and never written', () => {
    const log = readLog(Buffer.concat([aLog(), Buffer.alloc(100)]));

    expect(log).toMatchObject({ entries: ENTRIES, torn: true });
  });

  it('notices any changed byte of a whole entry', () => {
    const whole = aLog();
    for (let at = 0; at < whole.length - 1; at++) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      const log = readLog(changed);
      const isNoticed = 'fault' in log || log.entries.length < ENTRIES.length;
      expect({ at, isNoticed }).toEqual({ at, isNoticed: true });
    }
  });

  it('does not take a zero in the middle for the end', () => {
    const changed = aLog();
    changed[aLog(ENTRIES.slice(0, 1)).length + 80] = 0;

    expect(readLog(changed)).toEqual({ fault: 'entry 2 does not match its checksum' });
  });

  it('notices a line that is missing or in the wrong place', () => {
    const lines = aLog().toString().split('\n').slice(0, 3);
    const joined = (...order: readonly number[]) =>
      readLog(Buffer.from(order.map((index) => `${lines[index]}\n`).join('')));

    expect(joined(0, 2)).toHaveProperty('fault');
    expect(joined(0, 2, 1)).toHaveProperty('fault');
    expect(joined(0, 1, 1)).toHaveProperty('fault');
    expect(joined(0, 1, 2)).toHaveProperty('entries');
  });
});
