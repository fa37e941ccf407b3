/** `npm run fuzz`: simulated rollouts, one per seed, until one breaks an invariant. */

import { messageOf } from '../../core/errors';
import { again, shippedSandbox, story } from './many-seeds';
import { fuzzCommand, type FuzzOptions } from './options';
import { runSeed } from './run-seed';
import { stormyScenario } from './scenario';

async function fuzz({
  seeds,
  from,
  minutes,
  trace,
  plant,
  ...given
}: FuzzOptions): Promise<boolean> {
  const sandbox = await shippedSandbox();
  const deadline = minutes === undefined ? undefined : Date.now() + minutes * 60_000;
  let events = 0;
  let seconds = 0;
  let done = 0;
  const isOver = (): boolean => (deadline === undefined ? done >= seeds : Date.now() >= deadline);
  // However little time there is: no seed at all would prove nothing.
  while (done === 0 || !isOver()) {
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

async function main(): Promise<void> {
  const options = fuzzCommand().parse(process.argv).opts<FuzzOptions>();
  if (!(await fuzz(options))) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(
    `slipway: the simulation itself failed: ${String((error as Error).stack)}\n`,
  );
  process.exit(2);
});
