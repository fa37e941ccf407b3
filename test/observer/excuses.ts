/**
 * Whether a blocker that a workflow names is true (I6), judged from outside: only the words are the
 * product's.
 */

/**
 * A false blocker that stands for longer is reported. Slots of lost updates count for a minute, on
 * purpose.
 */
export const FALSE_MS = 120_000;

/** The checkable parts of a rollout's answer. */
export interface SaidByRollout {
  readonly state: string;
  readonly blocker?: string;
  readonly slots: readonly string[];
  /** The rollout waits for their updates. */
  readonly children: readonly {
    readonly node: string;
    readonly stage?: string;
    readonly blocker?: string;
  }[];
  readonly failed: readonly { readonly node: string }[];
  readonly triedAgain?: readonly string[];
}

/** The checkable parts of an update's answer. */
export interface SaidByUpdate {
  readonly phase: string;
  readonly blocker?: string;
}

export interface Outside {
  isOpen(workflowId: string): boolean;
  /** The rollout has told Temporal to start it, and Temporal has not confirmed that. */
  isStarting(workflowId: string): boolean;
  isPaused(pool: string): boolean;
  /** Undefined = there is no such Node. */
  node(
    name: string,
  ):
    | { readonly inService: boolean; readonly annotations: Readonly<Record<string, string>> }
    | undefined;
}

/** The running work of an update that waits. */
export interface UnderWay {
  /** Scheduled activities, by type. */
  readonly steps: readonly string[];
  /** Signals that Temporal has not confirmed. */
  readonly messages?: number;
  /** Its drain waits for these; undefined = not known. */
  readonly pods?: readonly string[] | undefined;
}

const STATE = 'machineconfiguration.openshift.io/state';
/** An update says this when it reports its end to its rollout. */
const TELLS = ' to hear how it ended';
/** Each sentence, and the activities that it means. */
const STEPS: readonly (readonly [string, readonly string[]])[] = [
  ['the host to prepare it', ['prepareUpdate']],
  ['its Node to be written', ['cordonNode', 'completeNode']],
  ['its Node to be cordoned once more', ['cordonNode']],
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
  ['the node to be Ready', ['awaitNodeReady']],
  ['the host to make it its current config', ['commitUpdate']],
  ['the host to drop what it kept for going back', ['commitUpdate']],
  ['the host to go back to its old config', ['goBack']],
  ['the host to say whether it has committed', ['goBack']],
  ['the host to undo what it had taken over', ['discardStaged']],
  ['the host to drop what it has staged', ['discardStaged']],
];
const FAILED: readonly (string | undefined)[] = ['Degraded', 'Unreconcilable'];

/** @returns a sentence for each false part */
export function falseOfRollout(
  pool: string,
  said: SaidByRollout,
  outside: Outside,
): readonly string[] {
  const found = said.children
    .filter(({ node }) => !hasUpdate(node, outside))
    .map(({ node }) => `waits for the update of ${node}, which does not run`);
  if (said.state === 'Paused' && !outside.isPaused(pool)) {
    found.push('says that its pool is paused, and it is not');
  }
  if (said.state === 'Halted') found.push(...falseOfHalt(said, outside));
  if (wordsOf(said).some(isFalselyFull)) {
    found.push('says that no slot is free, and names fewer nodes than there are slots');
  }
  const named = new Set([...said.slots, ...namedIn(said)]);
  found.push(...[...named].flatMap((node) => falseOfSlot(node, outside)));
  return found;
}

/**
 * The blocker of a rollout: its own words, or those of its updates. A rollout whose updates all
 * wait for a slot while one is free names no blocker; neither does one that calls its slots taken
 * and names fewer nodes than there are.
 */
export function excuseOfRollout({
  blocker,
  children = [],
}: Partial<Pick<SaidByRollout, 'blocker' | 'children'>>): string | undefined {
  if (children.some(({ stage }) => stage !== 'waiting')) return blocker ?? 'its node updates';
  return wordsOf({ blocker, children }).find((sentence) => !isFalselyFull(sentence));
}

/** @returns a sentence for each false part */
export function falseOfUpdate(
  { phase, blocker }: SaidByUpdate,
  { steps, messages = 0, pods }: UnderWay,
): readonly string[] {
  if (blocker === undefined || phase === 'WaitingForSlot') return [];
  if (blocker.endsWith(TELLS)) return messages > 0 ? [] : [`says "${blocker}", and tells nobody`];
  const meant = STEPS.find(([beginning]) => blocker.startsWith(beginning))?.[1];
  if (meant === undefined) return [`says "${blocker}", and nobody knows which step that is`];
  if (!steps.some((step) => meant.includes(step))) {
    const out = steps.length === 0 ? 'no step' : steps.join(', ');
    return [`says "${blocker}", and has ${out} under way`];
  }
  const isDrained = phase === 'Draining' && pods?.length === 0;
  return isDrained ? [`says "${blocker}", and none that it waits for is there`] : [];
}

function falseOfHalt(said: SaidByRollout, outside: Outside): readonly string[] {
  const failed = [...said.failed.map(({ node }) => node), ...(said.triedAgain ?? [])];
  if (failed.length === 0) return ['says that it is halted, and names no node that failed'];
  return failed.flatMap((node) => {
    const seen = outside.node(node);
    const isShown = seen === undefined || FAILED.includes(seen.annotations[STATE]);
    return isShown || outside.isOpen(updateOf(node))
      ? []
      : [`is halted by the failure of ${node}, which shows none`];
  });
}

/** A node with a slot is out of service, or its update will take it out. */
function falseOfSlot(node: string, outside: Outside): readonly string[] {
  const seen = outside.node(node);
  if (hasUpdate(node, outside) || seen?.inService === false) return [];
  const is = seen === undefined ? 'which is no node' : 'which is in service and has no update';
  return [`counts a slot for ${node}, ${is}`];
}

/** `…; holding a slot: a; unavailable: b, c (why) and 2 more`. */
function namedIn(said: SaidByRollout): readonly string[] {
  return wordsOf(said).flatMap((sentence) => takersIn(sentence).flatMap(({ names }) => names));
}

/** The rollout's words, and those of its updates. */
function wordsOf({
  blocker,
  children,
}: {
  readonly blocker?: string | undefined;
  readonly children: SaidByRollout['children'];
}): readonly string[] {
  const all = [blocker, ...children.map((child) => child.blocker)];
  return all.filter((sentence) => sentence !== undefined);
}

const MORE = / and (\d+) more$/;

interface Takers {
  readonly names: readonly string[];
  /** With those that are not named. */
  readonly count: number;
}

function takersIn(sentence: string): readonly Takers[] {
  if (!/^(no free slot|waiting for a slot)/.test(sentence)) return [];
  const plain = withoutReasons(sentence);
  return [...plain.matchAll(/(?:holding a slot|unavailable): ([^;]+)/g)].map(([, list = '']) => {
    const names = list.trim().replace(MORE, '').split(', ');
    return { names, count: names.length + Number(MORE.exec(list.trim())?.[1] ?? 0) };
  });
}

/** `waiting for a slot: maxUnavailable is 3; holding a slot: a; unavailable: b`. */
function isFalselyFull(sentence: string): boolean {
  const limit =
    /^(?:waiting for a slot: maxUnavailable is|waiting for a slot: at most|no free slot: [^:]* of at most) (\d+)/.exec(
      sentence,
    );
  if (limit === null) return false;
  const named = takersIn(sentence).reduce((sum, { count }) => sum + count, 0);
  return named < Number(limit[1]);
}

/** Reasons stand in parentheses, which may be nested. */
function withoutReasons(sentence: string): string {
  const shorter = sentence.replace(/ ?\([^()]*\)/g, '');
  return shorter === sentence ? sentence : withoutReasons(shorter);
}

/** Running, or about to: it may take Temporal long to start it. */
function hasUpdate(node: string, outside: Outside): boolean {
  return outside.isOpen(updateOf(node)) || outside.isStarting(updateOf(node));
}

function updateOf(node: string): string {
  return `update-node/${node}`;
}
