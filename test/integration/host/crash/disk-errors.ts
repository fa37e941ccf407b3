/** A disk that fails one operation with an input/output error, each operation in turn. */

import { failureName } from '../../../../core/errors';
import { Conductor, CrashMachine, type Step } from './crash-machine';
import type { Scenario } from './enumerate';
import { machineOnOld } from './enumerate';
import { atRest, type Run, type Sequel } from './judge';
import type { Operation, Picture } from './model-disk';

export interface Order {
  readonly step: Step | 'goBack';
  readonly picture: Picture;
  readonly rebootedFrom: string | undefined;
  /** Number of its operations without a failure. */
  readonly operations: number;
}

/** Every order of an update, and the rollback when all is applied. */
export async function ordersOf(run: Run): Promise<readonly Order[]> {
  const { scenario } = run;
  const machine = new CrashMachine((await machineOnOld()).disk.picture());
  const conductor = new Conductor(scenario.config, scenario);
  const orders: Order[] = [];
  for (const step of conductor.steps) {
    const before = { picture: machine.disk.picture(), rebootedFrom: conductor.rebootedFrom };
    if (step === 'verifyUpdate') orders.push(await counted('goBack', before, scenario));
    orders.push(await counted(step, before, scenario));
    await conductor.run(machine, step, { reboots: true });
  }
  return orders;
}

async function counted(
  step: Order['step'],
  before: Pick<Order, 'picture' | 'rebootedFrom'>,
  scenario: Scenario,
): Promise<Order> {
  const machine = new CrashMachine(before.picture);
  let operations = 0;
  machine.disk.onOperation = () => void (operations += 1);
  await carriedOut(machine, { step, ...before }, scenario);
  return { step, operations, ...before };
}

/** The order alone, without the boot that follows it. */
async function carriedOut(
  machine: CrashMachine,
  { step, rebootedFrom }: Pick<Order, 'step' | 'rebootedFrom'>,
  scenario: Scenario,
): Promise<void> {
  const conductor = new Conductor(scenario.config, scenario);
  if (step === 'goBack') await conductor.orderBack(machine);
  else await conductor.run(machine, step, { rebootedFrom });
}

export interface Aftermath {
  /** Name of the error; undefined = the order succeeded. */
  readonly failure: string | undefined;
  readonly message: string;
  /** Faults of the machine at rest; undefined = none. */
  readonly wrong: string | undefined;
}

/** The operation of an order that fails; `lasting` = all later ones, too, until the disk is replaced. */
interface DiskError {
  readonly at: number;
  readonly lasting: boolean;
}

/** Makes operations of an order fail, and lets the machine come to rest as the workflow would. */
export async function afterError(
  run: Run,
  order: Order,
  { at, lasting }: DiskError,
  sequel: Sequel,
): Promise<Aftermath> {
  const machine = new CrashMachine(order.picture);
  let operations = 0;
  let failed: Operation | undefined;
  machine.disk.onOperation = (operation) => {
    operations += 1;
    if (lasting ? operations < at : operations !== at) return;
    failed ??= operation;
    throw inputOutputError(operation);
  };
  const error = await carriedOut(machine, order, run.scenario).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  machine.disk.onOperation = () => undefined;
  const where = `${order.step}, operation ${at}: ${failed?.kind} ${failed?.path}`;
  const wrong = await atRest(run, machine, order, sequel).catch((thrown: unknown) =>
    thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
  );
  return {
    failure: error === undefined ? undefined : (failureName(error) ?? 'Error'),
    message: error instanceof Error ? error.message : '',
    wrong: wrong === undefined ? undefined : `${where}, then ${sequel}: ${wrong}`,
  };
}

/** Operations on a descriptor, whose error has no path. */
const WITHOUT_PATH: ReadonlySet<string> = new Set(['write', 'write on', 'fsync', 'chmod', 'chown']);

function inputOutputError({ kind, path }: Operation): NodeJS.ErrnoException {
  const isNamed = !WITHOUT_PATH.has(kind);
  const message = `EIO: i/o error, ${kind}${isNamed ? ` '${path}'` : ''}`;
  const named = isNamed ? { path } : {};
  return Object.assign(new Error(message), { code: 'EIO', errno: -5, syscall: kind, ...named });
}
