/** Feature gates of a KubeletConfiguration. */

import type { FieldProblem } from '../../field-problem';
import { recordAt } from '../../values-at';
import { FEATURE_GATES, type FeatureGate, GateStage } from './feature-gates';
import { problemAt, shown } from './problem';
import { KUBELET_VERSION } from './version';

type Config = Readonly<Record<string, unknown>>;

/** Gates that set all others of their stage. */
const WHOLE_STAGES: Readonly<Record<string, GateStage>> = {
  AllAlpha: GateStage.ALPHA,
  AllBeta: GateStage.BETA,
};

/** @see k8s.io/component-base featuregate/feature_gate.go (v0.36.3), unsafeSetFromMap */
export function gateProblems(config: Config): readonly FieldProblem[] {
  const written = writtenGates(config);
  const problems = [...written].flatMap(([name, value]) => gateProblem(name, value));
  return problems.length > 0 ? problems : dependencyProblems(written);
}

/** False for a gate that the kubelet does not know. */
export function gatesOf(config: Config): (gate: string) => boolean {
  const written = writtenGates(config);
  return (name) => isOn(written, name);
}

function writtenGates(config: Config): ReadonlyMap<string, boolean> {
  const entries = Object.entries(recordAt(config, 'featureGates') ?? {});
  return new Map(
    entries.flatMap(([name, value]): [string, boolean][] =>
      typeof value === 'boolean' ? [[name, value]] : [],
    ),
  );
}

function isOn(written: ReadonlyMap<string, boolean>, name: string): boolean {
  const gate = FEATURE_GATES.get(name);
  if (gate === undefined) return false;
  const isWholeStage = Object.hasOwn(WHOLE_STAGES, name);
  const stage = isWholeStage ? undefined : written.get(wholeStage(gate) ?? '');
  return written.get(name) ?? stage ?? gate.isOn;
}

function wholeStage(gate: FeatureGate): string | undefined {
  return Object.keys(WHOLE_STAGES).find((name) => WHOLE_STAGES[name] === gate.stage);
}

function gateProblem(name: string, value: boolean): readonly FieldProblem[] {
  const path = ['featureGates', name];
  const gate = FEATURE_GATES.get(name);
  if (gate === undefined) {
    const { major, minor } = KUBELET_VERSION;
    const problem = `${shown(name)} is no feature gate of Kubernetes ${major}.${minor}`;
    return [problemAt(path, problem, 'remove it, or correct its name')];
  }
  if (!gate.isLocked || gate.isOn === value) return [];
  const problem = `is ${value}, but this version of the kubelet locks it to ${gate.isOn}`;
  return [problemAt(path, problem, 'remove it')];
}

function dependencyProblems(written: ReadonlyMap<string, boolean>): readonly FieldProblem[] {
  return [...FEATURE_GATES].flatMap(([name, { needs }]) => {
    if (!isOn(written, name)) return [];
    const missing = needs.filter((need) => !isOn(written, need));
    return missing.map((need) => dependencyProblem(written, name, need));
  });
}

/** At the gate that is written: the one that needs another, the other, or a whole stage. */
function dependencyProblem(
  written: ReadonlyMap<string, boolean>,
  name: string,
  need: string,
): FieldProblem {
  const problem = `${name} is on, but needs ${need}, which is off`;
  const candidates = written.get(name) === true ? [name, need] : [need, name];
  const stage = Object.keys(WHOLE_STAGES).find((gate) => written.has(gate)) ?? name;
  const place = candidates.find((gate) => written.has(gate)) ?? stage;
  return problemAt(['featureGates', place], problem, `set ${need} to true, or ${name} to false`);
}
