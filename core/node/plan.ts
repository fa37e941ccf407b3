/** Plans a node update: from two rendered configs to changes, costs and phases. */

import {
  decideDrain,
  disruptionActions,
  runnableActions,
  type ContentPorts,
  type DisruptionPolicies,
  type DrainDecision,
} from '../disruption';
import { failureName, messageOf } from '../errors';
import { parseAndConvert, readRawIgnition, type IgnitionObject } from '../ignition';
import {
  canonicalKernelType,
  changedFiles,
  changedUnits,
  diffMachineConfigs,
  passwdChanges,
} from '../machine-config/diff';
import { ignitionReasonOnHosts } from '../machine-config/appends';
import type { IgnitionConfig, RenderedSpec } from '../machine-config/types';
import {
  hasArgument,
  kernelArgumentChanges,
  sameArguments,
  sameImage,
  singleArguments,
  withoutArgumentValue,
} from '../os';
import { plannedChanges } from './plan-changes';
import { planPhases } from './plan-phases';
import { planSummary } from './plan-text';
import type { PlanFacts, PlanVerdict, UpdatePlan } from './plan-types';

export { describePlan } from './plan-text';
export type { PlannedChange, UpdatePlan } from './plan-types';

/** The observed state of the machine, which wins over the recorded config. */
export interface OsState {
  /** Image of the booted deployment. */
  readonly bootedImage?: string;
  /** All arguments of the running kernel, one per entry. */
  readonly kernelArguments?: readonly string[];
}

interface PlanInput {
  /** Absent = the machine was never configured: everything is new. */
  readonly current: RenderedSpec | undefined;
  readonly desired: RenderedSpec;
  /** With defaults, see `mergeDisruptionPolicies`. */
  readonly policies: DisruptionPolicies;
  readonly osState?: OsState;
  readonly ports: ContentPorts;
}

/**
 * Plans the change from one rendered config to another. Costs are MCO's (`core/disruption`); the
 * order of the actions is Slipway's.
 *
 * A plan that is not reconcilable has only the phase Prepare: a difference that a running machine
 * cannot take, or an unreadable new `registries.conf` that decides about the drain. An unreadable
 * current config is not compared, and a machine without one was just made by Ignition.
 */
export function planUpdate(input: PlanInput): UpdatePlan {
  const { desired, policies, ports } = input;
  const old = effectiveCurrent(input);
  const facts = planFacts(old, desired);
  const diff = diffMachineConfigs(old, desired);
  const parts = {
    diff,
    files: [...facts.files.changed, ...facts.files.removed].sort(),
    units: [...facts.units.changed, ...facts.units.removed].sort(),
  };
  const required = disruptionActions(parts, policies);
  const judged = judge(input, () =>
    drainFor({ actions: required, old: old.config, desired: desired.config, ports }),
  );
  const actions = judged.verdict.ok ? runnableActions(required) : [];
  const plan = {
    ...facts,
    reconcilable: judged.verdict,
    changes: plannedChanges({ facts, diff, policies, drain: judged.drain }),
    actions,
    drain: judged.verdict.ok && judged.drain.drain,
    reboot: actions.some(({ type }) => type === 'Reboot'),
  };
  return { ...plan, phases: planPhases(plan, judged.drain), summary: planSummary(plan) };
}

interface Judgement {
  readonly verdict: PlanVerdict;
  readonly drain: DrainDecision;
}

function judge(input: PlanInput, decide: () => DrainDecision): Judgement {
  try {
    const reason = irreconcilable(input);
    if (reason !== undefined) return { verdict: { ok: false, reason }, drain: { drain: false } };
    return { verdict: { ok: true }, drain: decide() };
  } catch (error) {
    const name = failureName(error);
    if (name !== 'InvalidMachineConfig' && name !== 'InvalidIgnition') throw error;
    return { verdict: { ok: false, reason: messageOf(error) }, drain: { drain: false } };
  }
}

/** A machine must be able to leave an unreadable `registries.conf`. */
function drainFor(change: Parameters<typeof decideDrain>[0]): DrainDecision {
  try {
    return decideDrain(change);
  } catch (error) {
    if (!isReadableAlone(change)) throw error;
    return { drain: true, reason: 'registries.conf as it was cannot be read' };
  }
}

function isReadableAlone(change: Parameters<typeof decideDrain>[0]): boolean {
  try {
    decideDrain({ ...change, old: change.desired });
    return true;
  } catch (error) {
    if (failureName(error) !== 'InvalidMachineConfig') throw error;
    return false;
  }
}

/**
 * Why a running machine cannot take the change, in MCO's words. An invalid config cannot be
 * compared, and a machine must be able to leave it.
 */
function irreconcilable({ current, desired, ports }: PlanInput): string | undefined {
  if (current === undefined) return undefined;
  const next = ignitionOf(desired, ports);
  const old = readableIgnition(current, ports);
  const reason = old === undefined ? undefined : ignitionReasonOnHosts(old, next, []);
  if (reason !== undefined || current.fips === desired.fips) return reason;
  return 'detected change to FIPS flag; refusing to modify FIPS on a running cluster';
}

/** @throws `InvalidIgnition` */
function ignitionOf({ config }: RenderedSpec, ports: ContentPorts): IgnitionObject {
  return parseAndConvert(readRawIgnition(config, ports));
}

function readableIgnition(spec: RenderedSpec, ports: ContentPorts): IgnitionObject | undefined {
  try {
    return ignitionOf(spec, ports);
  } catch (error) {
    if (failureName(error) !== 'InvalidIgnition') throw error;
    return undefined;
  }
}

/** The recorded config of the machine, corrected by its observed state. */
function effectiveCurrent(input: PlanInput): RenderedSpec {
  const { current, desired, osState } = input;
  const recorded = current ?? blankSpec(desired);
  return {
    ...recorded,
    // Without a desired image the image stays.
    osImageURL: desired.osImageURL === '' ? '' : (osState?.bootedImage ?? recorded.osImageURL),
    kernelArguments: currentArguments(input),
  };
}

/**
 * The configured arguments that the running kernel has, spelled as in the desired config where they
 * are equivalent: entries are compared as text, as in MCO, which reboots for another spelling.
 */
function currentArguments({ current, desired, osState }: PlanInput): readonly string[] {
  const entries = (current ?? desired).kernelArguments;
  const running = osState?.kernelArguments ?? (current === undefined ? [] : undefined);
  const inForce =
    running === undefined
      ? entries
      : singleArguments(entries).filter((argument) => hasArgument(running, argument));
  return sameArguments(inForce, desired.kernelArguments) ? desired.kernelArguments : inForce;
}

function blankSpec(desired: RenderedSpec): RenderedSpec {
  const config: IgnitionConfig = { ignition: { version: desired.config.ignition.version } };
  return {
    osImageURL: '',
    baseOSExtensionsContainerImage: '',
    config,
    kernelArguments: [],
    extensions: [],
    fips: desired.fips,
    kernelType: '',
  };
}

function planFacts(old: RenderedSpec, desired: RenderedSpec): PlanFacts {
  const units = changedUnits(old.config, desired.config);
  const from = canonicalKernelType(old.kernelType);
  const to = canonicalKernelType(desired.kernelType);
  const changed = kernelArgumentChanges(old.kernelArguments, desired.kernelArguments);
  return {
    files: changedFiles(old.config, desired.config),
    units: {
      changed: [...units.added, ...units.updated].sort(),
      removed: [...units.removed].sort(),
    },
    ...passwdChanges(old.config, desired.config),
    kernelArguments: {
      add: changed.add.map(withoutArgumentValue),
      remove: changed.remove.map(withoutArgumentValue),
    },
    extensions: {
      install: desired.extensions.filter((name) => !old.extensions.includes(name)).sort(),
      uninstall: old.extensions.filter((name) => !desired.extensions.includes(name)).sort(),
    },
    ...(sameImage(old.osImageURL, desired.osImageURL)
      ? {}
      : {
          osImage: {
            ...(old.osImageURL === '' ? {} : { from: old.osImageURL }),
            to: desired.osImageURL,
          },
        }),
    ...(from === to ? {} : { kernelType: { from, to } }),
  };
}
