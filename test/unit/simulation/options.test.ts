import { fuzzCommand, type FuzzOptions } from '../../simulation/options';

/** The parsed flags. @throws with the output of the command before it ends */
function parsed(...flags: readonly string[]): FuzzOptions {
  const command = fuzzCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  return command.parse([...flags], { from: 'user' }).opts<FuzzOptions>();
}

test('300 seeds from the first one, unless something else is said', () => {
  expect(parsed()).toEqual({ seeds: 300, from: 1, trace: 80 });
  expect(parsed('--seeds', '2', '--from', '0', '--storm', '40', '--minutes', '0.5')).toEqual({
    ...{ seeds: 2, from: 0, trace: 80 },
    ...{ storm: 0.4, minutes: 0.5 },
  });
});

test.each([
  ['--seeds', '0', 'expected a whole number from 1 on.'],
  ['--seeds', '', 'expected a whole number from 1 on.'],
  ['--from', '', 'expected a whole number from 0 on.'],
  ['--storm', '250', 'expected a whole number from 0 to 100.'],
  ['--storm', '0.25', 'expected a whole number from 0 to 100.'],
  ['--minutes', '0', 'expected a number of minutes above 0.'],
])('%s %j is refused by name', (flag, text, why) => {
  expect(() => parsed(flag, text)).toThrow(new RegExp(`'${flag} <.*${why}`));
});

test.each(['forgetsFailures', 'writesOverOthers'] as const)('%s can be planted', (plant) => {
  expect(parsed('--plant', plant)).toMatchObject({ plant });
});
