import type { UpdatePlan } from './plan-types';

const QUIET: readonly string[] = ['None', 'DaemonReload'];

/** Nothing is taken out of service by the plan: neither the node nor a service of it. */
export function servesThroughout({ drain, reboot, actions }: UpdatePlan): boolean {
  return !drain && !reboot && actions.every(({ type }) => QUIET.includes(type));
}
