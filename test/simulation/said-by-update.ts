/** Whether a blocker that an update names is true (I6): only the words are the product's. */

/** The checkable parts of an update's answer. */
export interface SaidByUpdate {
  readonly phase: string;
  readonly blocker?: string;
}

/** The running work of an update that waits. */
interface UnderWay {
  /** Scheduled activities, by type. */
  readonly steps: readonly string[];
  /** Its drain waits for these; undefined = not known. */
  readonly pods?: readonly string[] | undefined;
}

/** Each sentence, and the activities that it means. */
const STEPS: readonly (readonly [string, readonly string[]])[] = [
  ['the host to prepare it', ['prepareUpdate']],
  ['a grant of its pool', ['takeOutOfService']],
  ['its Node to be written', ['completeNode']],
  ['its Node to be cordoned once more', ['cordonAgain']],
  ['its Node to be given back', ['releaseNode']],
  ['a look at the cordon and the pods of its node', ['checkCordon']],
  ['pods ', ['drainNode']],
  ['the host to write its files', ['applyUpdate']],
  ['the host to begin its reboot', ['armReboot']],
  ['the host to act on its services', ['performServiceActions']],
  ['the host to verify what it has', ['verifyUpdate']],
  ['the host to verify its old config', ['verifyBack']],
  ['the machine to come back on its old config', ['verifyBack']],
  ['the machine to come back', ['verifyUpdate']],
  ['the node to be Ready', ['awaitReturn']],
  ['the host to make it its current config', ['commitUpdate']],
  ['the host to drop what it kept for going back', ['commitUpdate']],
  ['the host to go back to its old config', ['goBack']],
  ['the host to say whether it has committed', ['goBack']],
  ['the host to undo what it had taken over', ['discardStaged']],
  ['the host to drop what it has staged', ['discardStaged']],
];

/** @returns a sentence for each false part */
export function falseOfUpdate(
  { phase, blocker }: SaidByUpdate,
  { steps, pods }: UnderWay,
): readonly string[] {
  if (blocker === undefined) return [];
  const meant = STEPS.find(([beginning]) => blocker.startsWith(beginning))?.[1];
  if (meant === undefined) return [`says "${blocker}", and nobody knows which step that is`];
  // It is cancelled, and asks why before it goes on.
  if (!steps.some((step) => meant.includes(step) || step === 'whyCancelled')) {
    const out = steps.length === 0 ? 'no step' : steps.join(', ');
    return [`says "${blocker}", and has ${out} under way`];
  }
  const isDrained = phase === 'Draining' && pods?.length === 0;
  return isDrained ? [`says "${blocker}", and none that it waits for is there`] : [];
}
