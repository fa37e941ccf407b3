import { SETUP_COMMAND } from '../../process/temporal/requirements';
import { ok, orOk, problem, warning, type Finding } from './finding';
import type { DoctorTemporal } from './ports';
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

/** Without one, every rollout and every update stands still. */
export async function clusterWorkers(temporal: DoctorTemporal): Promise<readonly Finding[]> {
  const polled = Object.entries(await temporal.clusterWorkers());
  const idle = polled.filter(([, pollers]) => pollers === 0).map(([queue]) => queue);
  const object = 'cluster workers';
  if (idle.length === 0) return [ok(object, 'ask Temporal for work')];
  const says = `none has asked Temporal for ${idle.join(', ')} in the last minutes`;
  const mend = 'kubectl -n slipway logs deployment/slipway-cluster-worker';
  return [problem(object, says, mend)];
}
