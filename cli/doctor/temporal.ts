import { SETUP_COMMAND } from '../../process/temporal/requirements';
import { ok, orOk, problem, warning, type Finding } from './finding';
import type { DoctorTemporal } from './ports';

/** With which Slipway is tested. */
const TESTED_TEMPORAL = { major: 1, minor: 31 };

export async function temporalServer(temporal: DoctorTemporal): Promise<readonly Finding[]> {
  const object = `Temporal at ${temporal.address}`;
  const version = await temporal.version();
  const [, major = '0', minor = '0'] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  const isOlder =
    Number(major) * 1000 + Number(minor) < TESTED_TEMPORAL.major * 1000 + TESTED_TEMPORAL.minor;
  const missing = (await temporal.missing()).map((what) =>
    problem(object, `lacks ${what}`, SETUP_COMMAND),
  );
  if (!isOlder) return orOk(missing, object, `${version}, namespace ${temporal.namespace}`);
  const tested = `${TESTED_TEMPORAL.major}.${TESTED_TEMPORAL.minor}`;
  const says = `${version} is older than ${tested}, with which Slipway is tested`;
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
