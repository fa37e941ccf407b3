/** Conditions that hold for a machine after any death, and the search for a moment in which they do not. */

import { temporaryIn } from '../../../../adapters/host/file-changes';
import { Conductor, CrashMachine, type Interference, type Step } from './crash-machine';
import { NEW, RELOADED, THIRD } from './configs';
import {
  type Death,
  deathsIn,
  machineAfter,
  machineOnOld,
  type Moment,
  recorded,
  type Scenario,
} from './enumerate';
import { keyOf, survivorsOf } from './model-disk';

export const SCENARIOS: readonly Scenario[] = [
  { name: 'an update that reboots into another operating system', config: NEW, reboots: true },
  { name: 'an update that a reload puts in force', config: RELOADED, reboots: false },
];

type Tree = Readonly<Record<string, string>>;

const RECORD = '/etc/machine-config-daemon/currentconfig';
const RECORD_BEGUN = `/etc/machine-config-daemon/${temporaryNameOf('currentconfig')}`;
/** Records that a host keeps when nothing runs. */
const KEPT = ['committed', 'orders', 'runs', 'simulated-os'].map((name) => `${name}.json`);
/** Includes half-written records of a death, which the next write removes. */
const AT_REST: ReadonlySet<string> = new Set(
  KEPT.flatMap((name) => [`/${name}`, `/${temporaryNameOf(name)}`]),
);

function temporaryNameOf(name: string): string {
  return temporaryIn({ directory: '', name }).slice(1);
}

/** An update that was run once, with the disk of every moment. */
export interface Run {
  readonly scenario: Scenario;
  readonly moments: readonly Moment[];
  /** At rest before and after the update. */
  readonly before: Tree;
  readonly after: Tree;
  /** On a third config, from either of the two. */
  readonly elsewhere: readonly Tree[];
  readonly interference: Interference;
}

/** @param interference - a bug that is planted in the product, from the first order on */
export async function runOnce(scenario: Scenario, interference: Interference = {}): Promise<Run> {
  const old = await machineOnOld();
  const machine = new CrashMachine(old.disk.picture(), interference);
  const conductor = new Conductor(scenario.config, scenario);
  let step: Step = 'prepareUpdate';
  const steps = async (): Promise<void> => {
    for (step of conductor.steps) await conductor.run(machine, step, { reboots: true });
  };
  const details = () => ({ step, rebootedFrom: conductor.rebootedFrom });
  const moments = await recorded(machine, steps, details);
  const elsewhere = [await broughtElsewhere(old), await broughtElsewhere(machine)];
  return { scenario, moments, before: old.tree(), after: machine.tree(), elsewhere, interference };
}

/** Brings a copy of a machine at rest to the third config. */
async function broughtElsewhere({ disk }: CrashMachine): Promise<Tree> {
  const machine = new CrashMachine(disk.picture());
  const end = await new Conductor(THIRD, { reboots: true }).bring(machine);
  if (end !== 'finished') throw new Error(end);
  return machine.tree();
}

/** Every operation of the rollback, from a machine on which everything was applied. */
export async function runBack(run: Run, from: Step): Promise<readonly Moment[]> {
  const start = run.moments.find(({ step }) => step === from);
  if (start === undefined) throw new Error(`no step ${from}`);
  const machine = new CrashMachine(start.picture, run.interference);
  const conductor = new Conductor(run.scenario.config, run.scenario);
  const details = () => ({ step: 'goBack' as const, rebootedFrom: start.rebootedFrom });
  return recorded(machine, () => conductor.goBack(machine), details);
}

/** Whether this disk occurred before, after this kind of death, in this step. */
export class Seen {
  readonly #keys = new Set<string>();

  isNew({ picture, step }: Moment, death: Death): boolean {
    const left = death === 'killed' ? picture : survivorsOf(picture, survivalOf(death));
    const key = `${step} ${death === 'killed' ? 'process' : 'machine'} ${keyOf(left)}`;
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return true;
  }

  get size(): number {
    return this.#keys.size;
  }
}

function survivalOf(death: Death) {
  return death === 'killed' ? 'all' : death;
}

/** How the machine goes on. `anew`: the workflow is lost, and another one comes; `other`: to another config. */
export type Sequel = 'finish' | 'back' | 'anew' | 'other';

/**
 * Lets the machine die at this moment, start again, and come to rest.
 *
 * @returns faults; undefined = it has one config byte for byte, which its record names
 */
async function broken(
  run: Run,
  moment: Moment,
  death: Death,
  sequel: Sequel,
): Promise<string | undefined> {
  const machine = await machineAfter(moment.picture, death, run.interference);
  try {
    await machine.settle();
    const early = await unsettled(run, machine, death);
    if (early !== undefined) return early;
    return await atRest(run, machine, moment, sequel);
  } catch (error) {
    return `failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

/** The kubelet may start only after a boot is settled; without a journal nothing may change any more. */
async function unsettled(
  run: Run,
  machine: CrashMachine,
  death: Death,
): Promise<string | undefined> {
  const tree = machine.tree();
  const { journal } = await machine.ports();
  const isOver = (await journal.open()) === undefined;
  if (isOver) return isEither(run, tree, 'without a journal');
  if (death === 'killed') return undefined;
  const [before, after] = [withoutRecord(run.before), withoutRecord(run.after)];
  return isEither({ before, after }, withoutRecord(tree), 'when the kubelet starts');
}

/** The record comes last, and so does a half-written one. */
function withoutRecord({ [RECORD]: _record, [RECORD_BEGUN]: _begun, ...rest }: Tree): Tree {
  return rest;
}

/** Goes on with the update, or rolls back. @returns faults at rest */
export async function atRest(
  run: Run,
  machine: CrashMachine,
  { step, rebootedFrom }: Pick<Moment, 'step' | 'rebootedFrom'>,
  sequel: Sequel,
): Promise<string | undefined> {
  const conductor = new Conductor(run.scenario.config, run.scenario);
  const isBack = sequel === 'back' || step === 'goBack';
  const end =
    sequel === 'anew' || sequel === 'other'
      ? await anew(sequel === 'anew' ? run.scenario : ELSEWHERE, machine)
      : isBack
        ? await conductor.end(machine, step)
        : await conductor.finish(machine, step, rebootedFrom);
  const memory = machine.memory().filter((name) => !AT_REST.has(name));
  if (memory.length > 0) return `${end}, and it still remembers ${memory.join(', ')}`;
  if (sequel === 'other') return isElsewhere(run, machine.tree(), end);
  const wanted = end === 'finished' ? run.after : run.before;
  return difference(wanted, machine.tree(), end);
}

/** An undo at the beginning costs one more workflow. */
async function anew(
  scenario: Pick<Scenario, 'config' | 'reboots'>,
  machine: CrashMachine,
): Promise<string> {
  const next = (run: number) => new Conductor(scenario.config, { ...scenario, run });
  const said = await next(2).bring(machine);
  return said.includes('EarlierUpdateLost') ? next(3).bring(machine) : said;
}

const ELSEWHERE = { config: THIRD, reboots: true } as const;

function isElsewhere({ elsewhere }: Run, tree: Tree, end: string): string | undefined {
  const wrong = elsewhere.map((wanted) =>
    difference(wanted, tree, `${end}, not on the third config`),
  );
  return wrong.includes(undefined) ? undefined : wrong.join('; ');
}

function isEither(
  { before, after }: Pick<Run, 'before' | 'after'>,
  tree: Tree,
  when: string,
): string | undefined {
  const fromOld = difference(before, tree, `${when}, not the old config`);
  if (fromOld === undefined) return undefined;
  const fromNew = difference(after, tree, 'and not the new one');
  return fromNew === undefined ? undefined : `${fromOld}; ${fromNew}`;
}

export function difference(wanted: Tree, found: Tree, what: string): string | undefined {
  const paths = [...new Set([...Object.keys(wanted), ...Object.keys(found)])];
  const different = paths.filter((path) => wanted[path] !== found[path]);
  const told = different
    .slice(0, 4)
    .map((path) => `${path}: ${found[path] ?? 'absent'}`.slice(0, 90));
  return different.length === 0
    ? undefined
    : `${what}: ${different.length} paths differ: ${told.join('; ')}`;
}

interface Search {
  readonly deaths?: readonly Death[];
  readonly sequels?: readonly Sequel[];
  /** Counts the cases that were tried. */
  readonly seen?: Seen;
}

/** The first moment with a fault, in words; undefined when there is none. */
export async function firstBroken(
  run: Run,
  moments: readonly Moment[],
  { deaths, sequels = ['finish'], seen = new Seen() }: Search = {},
): Promise<string | undefined> {
  for (const [index, moment] of moments.entries()) {
    for (const death of deaths ?? deathsIn(moment)) {
      if (!seen.isNew(moment, death)) continue;
      for (const sequel of sequels) {
        const what = await broken(run, moment, death, sequel);
        if (what !== undefined) return `${told(index, moment, death)}, then ${sequel}: ${what}`;
      }
    }
  }
  return undefined;
}

export function told(index: number, { step, operation }: Moment, death: Death): string {
  const how = typeof death === 'string' ? death : `${death.name} ${death.survives}`;
  return `${step}, ${how} at operation ${index + 1}, ${operation.kind} ${operation.path}`;
}

/** The disks of a machine that starts again after a death, for a second death. */
export async function secondMoments(
  run: Run,
  moment: Moment,
  death: Death,
  sequel: Sequel,
): Promise<readonly Moment[]> {
  const machine = await machineAfter(moment.picture, death, run.interference);
  const conductor = new Conductor(run.scenario.config, run.scenario);
  let { step } = moment;
  if (sequel === 'back') step = 'goBack';
  const work = async (): Promise<void> => {
    await machine.settle();
    if (step === 'goBack') await conductor.goBack(machine);
    else await conductor.run(machine, step, { rebootedFrom: moment.rebootedFrom });
  };
  return recorded(
    machine,
    () => work().catch(ignoreRefusal),
    () => ({ step, rebootedFrom: conductor.rebootedFrom ?? moment.rebootedFrom }),
  );
}

/** Another test judges what the first death made of the update. */
function ignoreRefusal(error: unknown): void {
  const isDomain = error instanceof Error && error.name !== 'Error' && error.name !== 'TypeError';
  if (!isDomain) throw error;
}

/** Runs an update. @returns the first answer that a power cut would make untrue, in words */
export async function firstForgotten(
  scenario: Scenario,
  interference: Interference = {},
): Promise<string | undefined> {
  const machine = new CrashMachine((await machineOnOld()).disk.picture(), interference);
  const conductor = new Conductor(scenario.config, scenario);
  for (const step of conductor.steps) {
    await conductor.run(machine, step);
    const picture = machine.disk.picture();
    const kept = new CrashMachine(survivorsOf(picture, 'synced'));
    const what = difference(machine.tree(), kept.tree(), `after the answer to ${step}`);
    const [all, left] = [machine.memory().join(' '), kept.memory().join(' ')];
    if (what !== undefined) return what;
    if (all !== left) return `after the answer to ${step}, ${all} and ${left} differ`;
    if (step === 'armReboot') await conductor.run(machine, step, { reboots: true });
  }
  return undefined;
}
