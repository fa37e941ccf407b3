import { processorMs, processorMsIn } from '../../../bench/processor-time';

const FIELDS = 'S 1 2 3 4 5 6 7 8 9 10 120 30 13 14';

it('reads user and system time in ticks of ten milliseconds', () => {
  expect(processorMsIn(`42 (node) ${FIELDS}`)).toBe(1_500);
});

it('is not misled by a command with spaces and brackets', () => {
  expect(processorMsIn(`42 (a (very) odd name) ${FIELDS}`)).toBe(1_500);
});

it('knows no time of a process that does not exist', () => {
  expect(processorMs(-1)).toBeUndefined();
});
