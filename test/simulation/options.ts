import { Command, InvalidArgumentError, Option } from 'commander';
import { wholeNumber } from '../../tools/whole-number';
import type { Switches } from './world/plants';

/** Flags of `npm run fuzz -- …`. */
export interface FuzzOptions {
  readonly seeds: number;
  readonly from: number;
  readonly minutes?: number;
  readonly trace: number;
  readonly storm?: number;
  readonly plain?: boolean;
  readonly plant?: keyof Switches;
}

/** Of the planted bugs those that are switches of the simulation: each of them. */
const SWITCHED = Object.keys({
  forgetsArming: true,
  believesItself: true,
  skipsUndo: true,
  bootsBackUnasked: true,
  forgetsFailures: true,
  statusOfAllNodes: true,
  leavesTaints: true,
  drainsOn: true,
  writesOverOthers: true,
} satisfies Record<keyof Switches, true>);

export function fuzzCommand(): Command {
  return new Command('fuzz')
    .description('Simulate rollouts in virtual time and check the invariants after every event.')
    .option('--seeds <number>', 'how many seeds', wholeNumber(1), 300)
    .option('--from <seed>', 'the first seed', wholeNumber(0), 1)
    .option('--minutes <number>', 'go on for so long instead', minutesOf)
    .option('--trace <lines>', 'events to show of a seed that breaks something', wholeNumber(0), 80)
    .option('--storm <percent>', 'attempts of activities that go wrong', percent)
    .option('--plain', 'one pool and no machine that joins')
    .addOption(new Option('--plant <bug>', 'put a bug in, to see it found').choices(SWITCHED));
}

function minutesOf(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('expected a number of minutes above 0.');
}

function percent(text: string): number {
  return wholeNumber(0, 100)(text) / 100;
}
