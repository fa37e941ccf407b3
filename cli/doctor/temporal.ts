import { SETUP_COMMAND } from '../../process/temporal/requirements';
import { poolRolloutId, updateNodeId } from '../../core/names';
import { orOk, problem, warning, type Finding } from './finding';
import type { Backlog, DoctorTemporal } from './ports';
import { olderThan } from './tested-version';

/** With which Slipway is tested. */
const TESTED = '1.31';

export async function temporalServer(temporal: DoctorTemporal): Promise<readonly Finding[]> {
  const object = `Temporal at ${temporal.address}`;
  const version = await temporal.version();
  const missing = (await temporal.missing()).map((what) =>
    problem(object, `lacks ${what}`, SETUP_COMMAND),
  );
  const says = olderThan(TESTED, version);
  if (says === undefined)
    return orOk(missing, object, `${version}, namespace ${temporal.namespace}`);
  return [warning(object, says, 'upgrade Temporal (docs/temporal.md)'), ...missing];
}

/**
 * Without one, every rollout and every update stands still.
 *
 * @param ready - replicas of their Deployment; undefined = unknown
 */
export async function clusterWorkers(
  temporal: DoctorTemporal,
  ready?: number,
): Promise<readonly Finding[]> {
  const polled = Object.entries(await temporal.clusterWorkers());
  const idle = polled.filter(([, pollers]) => pollers === 0).map(([queue]) => queue);
  const object = 'cluster workers';
  const mend = 'kubectl -n slipway logs deployment/slipway-cluster-worker';
  if (idle.length > 0) {
    const says = `none has asked Temporal for ${idle.join(', ')} in the last minutes`;
    return [problem(object, says, mend)];
  }
  const few = polled
    .filter(([, pollers]) => pollers < (ready ?? 0))
    .map(([queue, pollers]) => warning(object, `${pollers} of ${ready} ask for ${queue}`, mend));
  return [...orOk(few, object, 'ask Temporal for work'), ...behind(await temporal.backlogs())];
}

/** A worker takes a task within milliseconds. */
const WAITED_SECONDS = 30;

function behind(backlogs: { readonly [queue: string]: Backlog }): readonly Finding[] {
  return Object.entries(backlogs)
    .filter(([, { tasks, ageSeconds }]) => tasks > 0 && ageSeconds >= WAITED_SECONDS)
    .map(([queue, { tasks, ageSeconds }]) =>
      warning(
        'cluster workers',
        `${tasks} ${queue} wait, the oldest for ${ageSeconds} s: they are too few, or they hang`,
        'kubectl -n slipway scale deployment slipway-cluster-worker --replicas=3',
      ),
    );
}

/** Temporal ends a workflow at 51,200 events or 50 MiB, and warns at these. */
const MANY_EVENTS = 10_000;
const LARGE_BYTES = 10 * 1024 * 1024;

export async function histories(temporal: DoctorTemporal): Promise<readonly Finding[]> {
  const sizes = await temporal.histories();
  const large = sizes.filter(({ events, bytes }) => events >= MANY_EVENTS || bytes >= LARGE_BYTES);
  const findings = large.map(({ workflow, events, bytes }) => {
    const size = `${events} events, ${Math.ceil(bytes / 1024 / 1024)} MiB`;
    const says = `its history has ${size}; Temporal ends it at 51200 events or 50 MiB`;
    return warning(`workflow ${workflow}`, says, shorten(workflow));
  });
  return orOk(findings, 'histories in Temporal', `of ${sizes.length} open workflows are short`);
}

/** A rollout that is terminated begins again where the nodes stand. */
function shorten(workflow: string): string {
  const node = after(updateNodeId(''), workflow);
  if (node !== undefined) return `slipway node cancel ${node}; slipway node retry ${node}`;
  const pool = after(poolRolloutId(''), workflow) ?? 'POOL';
  return `temporal workflow terminate --workflow-id ${workflow}; slipway rollout start ${pool}`;
}

function after(prefix: string, workflow: string): string | undefined {
  return workflow.startsWith(prefix) ? workflow.slice(prefix.length) : undefined;
}
