import { changedOnce, type Change } from '../../simulation/changed-once';
import { readableBundle } from '../../simulation/readable-bundle';

/** An update looks at the cordon before it writes to the host. A rollout waits a moment before each step. */
const CHANGES: readonly Change[] = [
  { from: "is: isLate ? 'arming' : 'applying',", to: "is: isLate ? 'arming' : 'looking'," },
  {
    from: "is: 'arming',\n            prepared\n        } : {",
    to: "is: 'applying',\n            prepared\n        } : {",
  },
  { from: "is: plan.drain ? 'looking' : 'arming',", to: "is: 'arming'," },
  {
    from: 'function step(input, summary) {',
    to: 'async function step(input, summary) {\n    await new Promise((moment) => setTimeout(moment, 1));',
  },
];

/** The workflows of a build that takes some of their steps in another order: no history of theirs fits it, nor the other way. */
export async function bundleInAnotherOrder(): Promise<string> {
  const shipped = await readableBundle();
  return CHANGES.reduce((code, change) => changedOnce(code, change, 'another order'), shipped);
}
