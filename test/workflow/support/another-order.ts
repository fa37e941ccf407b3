import { changedOnce, type Change } from '../../simulation/plants';
import { readableBundle } from '../../simulation/readable-bundle';

/** An update looks at the cordon before it writes to the host, a rollout asks which updates run once it has started some. */
const CHANGES: readonly Change[] = [
  {
    from: "await progress.during('Applying', host.apply, 'the host to write its files');",
    to:
      'if (plan.reboot && plan.drain) await drainLate(update, plan);\n' +
      "    await progress.during('Applying', host.apply, 'the host to write its files');",
  },
  { from: 'if (plan.drain) await drainLate(update, plan);', to: '' },
  {
    from: "if (rollout.knows === 'nothing' && rollout.view !== undefined) {",
    to: "const asks = rollout.knows === 'nothing' && rollout.view !== undefined;\n        if (false) {",
  },
  {
    from: 'decide(rollout);\n',
    to: 'decide(rollout);\n        if (asks) void learnRunning(rollout);\n',
  },
];

/** The workflows of a build that takes two of their steps in another order: no history of theirs fits it, nor the other way. */
export async function bundleInAnotherOrder(): Promise<string> {
  const shipped = await readableBundle();
  return CHANGES.reduce((code, change) => changedOnce(code, change, 'another order'), shipped);
}
