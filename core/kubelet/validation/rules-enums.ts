/** Fields that have a list of values. */

import type { FieldProblem } from '../../field-problem';
import { flagAt, textAt } from '../../values-at';
import { anyOf, type Facts, problemAt, shown, unlessOneOf } from './problem';
import { needsGate } from './rules-durations';
import { KUBELET_VERSION } from './version';

const VALUES: Readonly<Record<string, readonly string[]>> = {
  topologyManagerPolicy: ['none', 'best-effort', 'restricted', 'single-numa-node'],
  topologyManagerScope: ['container', 'pod'],
  cpuManagerPolicy: ['none', 'static'],
  memoryManagerPolicy: ['None', 'Static'],
  hairpinMode: ['promiscuous-bridge', 'hairpin-veth', 'none'],
  configMapAndSecretChangeDetectionStrategy: ['Watch', 'Cache', 'Get'],
  memoryReservationPolicy: ['None', 'TieredReservation'],
  tlsMinVersion: ['VersionTLS10', 'VersionTLS11', 'VersionTLS12', 'VersionTLS13'],
  'authorization.mode': ['Webhook', 'AlwaysAllow'],
};

const SWAP_BEHAVIORS = ['NoSwap', 'LimitedSwap'];

/**
 * @see kubernetes pkg/kubelet/apis/config/validation (v1.36.3), ValidateKubeletConfiguration;
 *   pkg/kubelet/kubelet.go, NewMainKubelet; cmd/kubelet/app/auth.go, BuildAuthz
 */
export function enumProblems(facts: Facts): readonly FieldProblem[] {
  const { config } = facts;
  return [
    ...Object.entries(VALUES).flatMap(([name, allowed]) => {
      const path = name.split('.');
      return unlessOneOf(path, textAt(config, ...path), allowed);
    }),
    ...swapProblems(facts),
    ...tieredReservation(facts),
    ...systemLogProblems(facts),
    ...runOnceProblems(facts),
    ...serverBootstrap(facts),
    ...hiddenMetrics(facts),
  ];
}

function swapProblems({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['memorySwap', 'swapBehavior'];
  const behavior = textAt(config, ...path) ?? '';
  if (behavior === '') return [];
  if (!isEnabled('NodeSwap')) return [needsGate(path, 'NodeSwap')];
  return unlessOneOf(path, behavior, SWAP_BEHAVIORS);
}

function tieredReservation({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['memoryReservationPolicy'];
  const isTiered = textAt(config, ...path) === 'TieredReservation';
  return isTiered && !isEnabled('MemoryQoS') ? [needsGate(path, 'MemoryQoS')] : [];
}

function systemLogProblems({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['enableSystemLogQuery'];
  if (flagAt(config, ...path) !== true) return [];
  const gate = isEnabled('NodeLogQuery') ? [] : [needsGate(path, 'NodeLogQuery')];
  if (flagAt(config, 'enableSystemLogHandler') !== false) return gate;
  const problem = 'is true, but enableSystemLogHandler is false';
  return [...gate, problemAt(path, problem, 'write false, or set enableSystemLogHandler to true')];
}

function runOnceProblems({ config }: Facts): readonly FieldProblem[] {
  if (flagAt(config, 'runOnce') !== true) return [];
  return [problemAt(['runOnce'], 'is true, which kubelets no longer support', 'remove it')];
}

function serverBootstrap({ config, isEnabled }: Facts): readonly FieldProblem[] {
  const path = ['serverTLSBootstrap'];
  const gate = 'RotateKubeletServerCertificate';
  return flagAt(config, ...path) === true && !isEnabled(gate) ? [needsGate(path, gate)] : [];
}

/** @see k8s.io/component-base metrics/api/v1/config.go (v0.36.3) */
function hiddenMetrics({ config }: Facts): readonly FieldProblem[] {
  const { major, minor } = KUBELET_VERSION;
  const value = textAt(config, 'showHiddenMetricsForVersion') ?? '';
  const allowed = `${major}.${minor - 1}`;
  if (value === '' || value === allowed) return [];
  const problem = `is ${shown(value)}; only the minor version before the kubelet's is allowed`;
  return [problemAt(['showHiddenMetricsForVersion'], problem, `write ${anyOf([allowed])}`)];
}
