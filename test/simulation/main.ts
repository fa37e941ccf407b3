/** `npm run fuzz`: simulated rollouts, one per seed, until one breaks an invariant. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { messageOf } from '../../core/errors';
import { again, shippedSandbox, story } from './many-seeds';
import { runSeed } from './run';
import { stormyScenario } from './scenario';
import type { ActivityPlants } from './world/plants';

interface Options {
  readonly seeds: number;
  readonly from: number;
  readonly minutes?: number;
  readonly trace: number;
  readonly storm?: number;
  readonly plain?: boolean;
  readonly plant?: SwitchedPlant;
}

/** Of the planted bugs those that are switches of the simulation. */
const SWITCHED = [
  'forgetsArming',
  'believesItself',
  'skipsUndo',
  'liftsAnyCordon',
  'countsAllNodes',
  'overlooksMoves',
  'overlooksNumbers',
  'takesDownForLeft',
  'statusOfAllNodes',
  'drainsOn',
  'overlooksRuns',
  'believesAwaited',
  'bootsBackUnasked',
] as const satisfies readonly (keyof ActivityPlants)[];
type SwitchedPlant = (typeof SWITCHED)[number];

async function fuzz({ seeds, from, minutes, trace, plant, ...given }: Options): Promise<boolean> {
  const sandbox = await shippedSandbox();
  const deadline = minutes === undefined ? undefined : Date.now() + minutes * 60_000;
  let events = 0;
  let seconds = 0;
  let done = 0;
  const isOver = (): boolean => (deadline === undefined ? done >= seeds : Date.now() >= deadline);
  while (!isOver()) {
    const seed = from + done;
    const planted = { ...given, ...(plant === undefined ? {} : { plant }) };
    const outcome = await runSeed(seed, {
      sandbox,
      scenario: stormyScenario(seed, given),
      plants: plant === undefined ? {} : { [plant]: true },
    }).catch((error: unknown) => {
      throw new Error(`${messageOf(error)}\n${again(seed, planted)}`, { cause: error });
    });
    done += 1;
    events += outcome.events;
    seconds += outcome.seconds;
    if (outcome.violations.length > 0) {
      process.stdout.write(`${story(outcome, planted, trace)}\n`);
      return false;
    }
    if (done % 50 === 0) process.stdout.write(`${done} seeds, ${events} events\n`);
  }
  const hours = Math.round(seconds / 3600);
  process.stdout.write(
    `${done} seeds from ${from}: no invariant broken in ${events} events, ${hours} virtual hours\n`,
  );
  return true;
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new InvalidArgumentError('give a whole number of at least 0');
}

function minutesOf(text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new InvalidArgumentError('give a number of minutes above 0');
}

function percent(text: string): number {
  return Math.min(100, whole(text)) / 100;
}

async function main(): Promise<void> {
  const command = new Command('fuzz')
    .description('Simulate rollouts in virtual time and check the invariants after every event.')
    .option('--seeds <number>', 'how many seeds', whole, 300)
    .option('--from <seed>', 'the first seed', whole, 1)
    .option('--minutes <number>', 'go on for so long instead', minutesOf)
    .option('--trace <lines>', 'events to show of a seed that breaks something', whole, 80);
  command
    .option('--storm <percent>', 'attempts of activities that go wrong', percent)
    .option('--plain', 'one pool and no machine that joins')
    .addOption(new Option('--plant <bug>', 'put a bug in, to see it found').choices(SWITCHED));
  command.parse(process.argv);
  if (!(await fuzz(command.opts<Options>()))) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(
    `slipway: the simulation itself failed: ${String((error as Error).stack)}\n`,
  );
  process.exit(2);
});
