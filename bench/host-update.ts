/**
 * Splits an update of a real machine into stretches, by the workflow's phases and from outside.
 */

import { withUpdate } from '../test/hosts/support/node-updates';
import type { NodeChange } from '../test/observer/observed';
import type { NodeReport } from '../workflows/contracts/update';
import type { World } from '../test/hosts/support/world';

export interface Stretch {
  readonly what: string;
  readonly ms: number;
}

export interface MeasuredUpdate {
  /** From the MachineConfig to the end of the last step on the host. */
  readonly phases: readonly Stretch[];
  /** The phase `Rebooting` and the times around it. */
  readonly reboot: readonly Stretch[];
  /** Until the kubelet is Ready with the new boot ID. */
  readonly orderToReadyMs: number;
  /** Until the node is uncordoned on the new config. */
  readonly orderToInServiceMs: number;
  readonly disturbedMs: number;
}

const SETTLING = 'slipway-host-settle.service';

/** @throws Error when the update did not reboot, or nothing observed the reboot */
export async function measureUpdate(world: World, config: object): Promise<MeasuredUpdate> {
  const { machine, record } = world;
  const seen = record.changes.length;
  const boot = machine.launcher.untilBoots(machine.launcher.boots() + 1).then(() => Date.now());
  const appliedAtMs = Date.now();
  await world.allUpdatedTo(await world.roll(config));
  await world.atRest(machine.name);
  const report = await reportOf(world);
  const instants = { ...instantsOf(record.changes.slice(seen)), bootMs: await boot };
  const startedAtMs = Date.parse(report.startedAt);
  return {
    phases: [
      { what: 'rendered, chosen', ms: startedAtMs - appliedAtMs },
      ...report.phases.map(({ phase, seconds }) => ({ what: phase, ms: seconds * 1000 })),
    ],
    reboot: await rebootOf(world, report, instants),
    orderToReadyMs: instants.readyMs - startedAtMs,
    orderToInServiceMs: instants.uncordonMs - startedAtMs,
    disturbedMs: instants.uncordonMs - instants.cordonMs,
  };
}

interface Instants {
  readonly cordonMs: number;
  readonly readyMs: number;
  readonly uncordonMs: number;
}

function instantsOf(changes: readonly NodeChange[]): Instants {
  const before = changes[0]?.previous?.bootID;
  const at = (what: string, is: (change: NodeChange) => boolean): number => {
    const found = changes.find(is);
    if (found === undefined) throw new Error(`the node was never seen ${what}`);
    return found.atMs;
  };
  return {
    cordonMs: at('cordoned', ({ node }) => node.unschedulable),
    readyMs: at('Ready again', ({ node }) => node.ready && node.bootID !== before),
    uncordonMs: at(
      'uncordoned',
      ({ node, previous }) => previous?.unschedulable === true && !node.unschedulable,
    ),
  };
}

async function rebootOf(
  world: World,
  report: NodeReport,
  { bootMs, readyMs }: Instants & { readonly bootMs: number },
): Promise<readonly Stretch[]> {
  const armedMs = startOf(report, 'Rebooting');
  const [settleMs, settledMs] = await settling(world);
  return [
    { what: 'shut down', ms: bootMs - armedMs },
    { what: 'boot, until settling begins', ms: settleMs - bootMs },
    { what: 'settle', ms: settledMs - settleMs },
    { what: 'settled, until the kubelet is Ready', ms: readyMs - settledMs },
    { what: 'from there, until the host is verified', ms: startOf(report, 'Verifying') - readyMs },
  ];
}

function startOf({ startedAt, phases }: NodeReport, wanted: string): number {
  let atMs = Date.parse(startedAt);
  for (const { phase, seconds } of phases) {
    if (phase === wanted) return atMs;
    atMs += seconds * 1000;
  }
  throw new Error(`the update had no phase ${wanted}`);
}

/** Start and end, in this boot, of the program that runs before the kubelet. */
async function settling({ machine }: World): Promise<readonly [number, number]> {
  const names = ['ExecMainStartTimestampMonotonic', 'ExecMainExitTimestampMonotonic'];
  const shown = await machine.output(
    ...['systemctl', 'show', SETTLING, ...names.map((name) => `--property=${name}`)],
  );
  // Machines in containers share the kernel's clock.
  const epochMs = Date.now() - Number(process.hrtime.bigint()) / 1e6;
  const [start = NaN, end = NaN] = names.map((name) => {
    const microseconds = Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(shown)?.[1]);
    return epochMs + microseconds / 1000;
  });
  return [start, end];
}

function reportOf({ fleet, machine }: World): Promise<NodeReport> {
  return withUpdate(fleet.temporal, machine.name, async (update) => {
    return (await update.result()) as NodeReport;
  });
}
