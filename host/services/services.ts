/**
 * Runs the reloads and restarts of a plan, in its order. A service must stay up afterwards, else
 * the update fails.
 */

import { DEFAULT_DISRUPTION_POLICIES, type DisruptionAction } from '../../core/disruption';
import { fail, failureName, messageOf } from '../../core/errors';
import type { UpdatePlan } from '../../core/node/plan';
import { atBest, type HostPorts, markOf, type OpenJournal, type UnitState } from '../ports';
import {
  awaitActive,
  isBetweenStarts,
  serviceFailed,
  staysUp,
  type WatchedService,
} from './service-health';

/** `Special` reloads CRI-O, which reads `registries.conf`. */
const REGISTRIES_SERVICE = 'crio.service';
/** A host without this unit may have its program. */
const TRUST_SERVICE = 'coreos-update-ca-trust.service';

type Ports = Pick<HostPorts, 'systemd' | 'context' | 'pause' | 'warn'>;
type ServiceAction = { readonly verb: 'reload' | 'restart'; readonly service: string };

/**
 * Safe to repeat.
 *
 * - A service that does not run is not reloaded: it reads its files when it starts.
 * - A restart starts a service that does not run, as in systemd.
 * - Services of the default policies may be missing: not every machine has CRI-O.
 *
 * @throws `ServiceFailed` naming the service and its state
 */
export async function performActions(
  ports: Ports,
  actions: readonly DisruptionAction[],
): Promise<void> {
  const watched: WatchedService[] = [];
  for (const action of actions) {
    const { signal, progress } = ports.context();
    signal.throwIfAborted();
    if (action.type === 'DaemonReload') {
      progress('reloading systemd');
      await ports.systemd.daemonReload();
    }
    const wanted = serviceActionOf(action);
    const up = wanted === undefined ? undefined : await performOne(ports, wanted);
    if (up !== undefined) watched.push(up);
  }
  await staysUp(ports, watched);
}

async function performOne(
  ports: Ports,
  action: ServiceAction,
): Promise<WatchedService | undefined> {
  const { systemd, context } = ports;
  const { verb, service } = action;
  const { progress } = context();
  const before = await systemd.state(service);
  const skipped = before === undefined ? undefined : reasonToSkip(action, before);
  if (skipped !== undefined) {
    progress(`${service} ${skipped}: not ${verb}ed`);
    return undefined;
  }
  progress(`${verb}ing ${service}`);
  if (before !== undefined && isMissing(before)) {
    if (service === TRUST_SERVICE) return updateTrust(ports);
    throw fail('ServiceFailed', `${verb} ${service}: there is no such unit on this machine`, {
      service,
      result: before.load,
    });
  }
  try {
    await (verb === 'reload' ? systemd.reload(service) : systemd.restart(service));
  } catch (error) {
    throw await refused(ports, action, error);
  }
  return awaitActive(ports, service, verb);
}

function reasonToSkip({ verb, service }: ServiceAction, before: UnitState): string | undefined {
  if (isMissing(before)) {
    return service !== TRUST_SERVICE && isOfDefaults(service) ? 'is not installed' : undefined;
  }
  return verb === 'reload' && isDown(before) ? 'does not run' : undefined;
}

function isDown({ active }: UnitState): boolean {
  return active === 'inactive' || active === 'failed';
}

function isMissing({ load }: UnitState): boolean {
  return load === 'not-found';
}

async function updateTrust({ systemd }: Ports): Promise<undefined> {
  try {
    await systemd.updateTrust();
  } catch (error) {
    throw fail(
      'ServiceFailed',
      `${TRUST_SERVICE} is not installed, and instead of it: ${messageOf(error)}`,
      { service: TRUST_SERVICE },
    );
  }
}

/** The state of the service says more than systemctl's message. */
async function refused(
  { systemd }: Ports,
  { verb, service }: ServiceAction,
  error: unknown,
): Promise<unknown> {
  if (failureName(error) === undefined) return error;
  const state = await systemd.state(service);
  const isUp = state === undefined || state.active === 'active';
  const named = isUp
    ? fail('ServiceFailed', messageOf(error), { service, ...(state && { result: state.result }) })
    : serviceFailed(service, verb, state);
  return Object.assign(named, { cause: error });
}

/** Of the actions. Absent: no systemd runs, so they are not known. */
export async function runningServices(
  { systemd }: Pick<HostPorts, 'systemd'>,
  actions: readonly DisruptionAction[],
): Promise<readonly string[] | undefined> {
  const running: string[] = [];
  for (const { service } of actions.flatMap((action) => serviceActionOf(action) ?? [])) {
    const state = await systemd.state(service);
    if (state === undefined) return undefined;
    if (!isDown(state)) running.push(service);
  }
  return [...new Set(running)];
}

/**
 * Reloads systemd's units if the update has some, and runs the actions again for services that may
 * have the new files. Services that ran before the update must run again; others stay down. Safe to
 * repeat.
 *
 * @throws `ServiceFailed` naming the service
 */
export async function tellOfOldFiles(ports: Ports, journal: OpenJournal): Promise<void> {
  const { plan } = journal.header;
  if (changesUnits(plan)) await ports.systemd.daemonReload();
  const begun = markOf(journal, 'servicesBegun');
  if (begun === undefined) return;
  const { running } = begun;
  for (const service of new Set(running)) {
    // systemd would not start a service that has failed repeatedly.
    await atBest(ports, `cannot forget the failures of ${service}`, async () =>
      ports.systemd.resetFailed?.(service),
    );
  }
  if (running === undefined) return performActions(ports, plan.actions);
  const ran = (action: DisruptionAction): boolean => {
    const service = serviceActionOf(action)?.service;
    return service === undefined || running.includes(service);
  };
  for (const action of plan.actions.filter((one) => !ran(one))) {
    await leaveDown(ports, serviceActionOf(action)?.service ?? '');
  }
  const told: DisruptionAction[] = [];
  for (const action of plan.actions.filter(ran)) told.push(await startedIfItEnded(ports, action));
  await performActions(ports, told);
}

/** Nothing else starts a service that a reload of the new files ended. */
async function startedIfItEnded(
  { systemd }: Ports,
  action: DisruptionAction,
): Promise<DisruptionAction> {
  const wanted = serviceActionOf(action);
  if (wanted?.verb !== 'reload') return action;
  const { service } = wanted;
  const state = await systemd.state(service);
  const hasEnded =
    state !== undefined && !isMissing(state) && (isDown(state) || isBetweenStarts(state));
  return hasEnded ? { type: 'Restart', restart: { serviceName: service } } : action;
}

/** Stops a service that the update started; a oneshot runs again, on the old files. */
async function leaveDown(ports: Ports, service: string): Promise<void> {
  const { systemd, context } = ports;
  const state = await systemd.state(service);
  if (state === undefined || (isMissing(state) && service !== TRUST_SERVICE)) return;
  if (state.type === 'oneshot' || isMissing(state)) {
    await performOne(ports, { verb: 'restart', service });
  } else if (!isDown(state)) {
    context().progress(`stopping ${service}, which did not run before`);
    await systemd.stop(service);
  }
}

/** `None`, `Drain`, `Reboot` and `DaemonReload` belong to no service. */
function serviceActionOf(action: DisruptionAction): ServiceAction | undefined {
  switch (action.type) {
    case 'Reload':
      return { verb: 'reload', service: action.reload.serviceName };
    case 'Restart':
      return { verb: 'restart', service: action.restart.serviceName };
    case 'Special':
      return { verb: 'reload', service: REGISTRIES_SERVICE };
    case 'None':
    case 'Drain':
    case 'Reboot':
    case 'DaemonReload':
      return undefined;
  }
}

/** It may be missing on a machine. */
function isOfDefaults(service: string): boolean {
  const { files, units, sshkey } = DEFAULT_DISRUPTION_POLICIES;
  return [...files, ...units, sshkey].some(({ actions }) =>
    actions.some((action) => serviceActionOf(action)?.service === service),
  );
}

/** systemd keeps some part of the update in memory. */
export function changesUnits({ units }: Pick<UpdatePlan, 'units'>): boolean {
  return units.changed.length + units.removed.length > 0;
}
