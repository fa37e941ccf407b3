import { phaseTable } from '../../../demo/summary';

test('a row for each phase that ran, with how often and how long', () => {
  const lines = phaseTable([
    {
      phases: [
        { phase: 'Draining', seconds: 2 },
        { phase: 'Rebooting', seconds: 10 },
      ],
    },
    { phases: [{ phase: 'Draining', seconds: 4 }] },
    { phases: [{ phase: 'Draining', seconds: 9.04 }] },
  ]);

  expect(lines).toEqual([
    '  phase            runs      p50      p95',
    '  Draining            3    4.0 s    9.0 s',
    '  Rebooting           1   10.0 s   10.0 s',
  ]);
});
