import { changedOnce, type Change } from '../../simulation/plants';
import { readableBundle } from '../../simulation/readable-bundle';

/** An update reads the cordon before it writes to the host, a rollout asks which updates run before it reads the pool. */
const CHANGES: readonly Change[] = [
  {
    from: "await progress.during('Applying', host.apply, 'the host to write its files');",
    to:
      'if (plan.reboot && plan.drain) await drainLate(update, plan);\n' +
      "    await progress.during('Applying', host.apply, 'the host to write its files');",
  },
  { from: 'if (plan.drain) await drainLate(update, plan);', to: '' },
  {
    from: 'const seen = rollout.changes;\n        await look(rollout);',
    to:
      "const seen = rollout.changes;\n        if (rollout.knows === 'nothing') void learnRunning(rollout);\n" +
      '        await look(rollout);',
  },
];

/** The workflows of a build that takes two of their steps in another order: no history of theirs fits it, nor the other way. */
export async function bundleInAnotherOrder(): Promise<string> {
  const shipped = await readableBundle();
  return CHANGES.reduce((code, change) => changedOnce(code, change, 'another order'), shipped);
}
