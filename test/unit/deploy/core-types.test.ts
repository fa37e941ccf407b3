/**
 * Compares the types of core with the schemas, and so with the CRDs (`crd-schemas.test.ts`), as whole objects and
 * in both directions. The compiler compares; intended differences are listed here.
 */

import type { z } from 'zod';
import type * as schemas from '../../../adapters/api-schemas';
import type { DisruptionAction, NodeDisruptionPolicy } from '../../../core/disruption/types';
import type { MachineConfig } from '../../../core/machine-config/types';
import type { MachineConfigNode } from '../../../core/node/types';
import type { Condition } from '../../../core/object-meta';
import type { Slipway } from '../../../core/operator-status';
import type { MachineConfigPool, RolloutPolicy } from '../../../core/pool/types';
import type { Grant, PoolRollout } from '../../../core/rollout/pool-rollout';

/** Without the index signatures of tolerant schemas, and read-only as in core. */
type Known<T> = T extends readonly (infer Item)[]
  ? readonly Known<Item>[]
  : T extends object
    ? string extends keyof T
      ? KnownFields<T>
      : { readonly [K in keyof T]: Known<T[K]> }
    : T;
type KnownFields<T extends object> = [keyof NamedFields<T>] extends [never]
  ? Readonly<T>
  : { readonly [K in keyof NamedFields<T>]: Known<NamedFields<T>[K]> };
type NamedFields<T> = { [K in keyof T as string extends K ? never : K]: T[K] };

type Schema<S extends z.ZodType> = Known<z.output<S>>;

/** The path of every field of a type: `spec.pool.name`, `status.conditions[].type`. */
type Fields<T, P extends string = ''> = T extends readonly (infer Item)[]
  ? Fields<Item, `${P}[]`>
  : T extends object
    ? { [K in keyof T & string]-?: FieldAndBelow<T[K], Joined<P, K>> }[keyof T & string]
    : never;
type FieldAndBelow<T, P extends string> = P | Fields<NonNullable<T>, P>;
type Joined<P extends string, K extends string> = string extends K
  ? never
  : P extends ''
    ? K
    : `${P}.${K}`;

/** Exactly the fields that only one of the two has. */
type OnlyIn<One, Other> = Readonly<Record<Exclude<Fields<One>, Fields<Other>>, true>>;

/** Fields of every object that core does not use. */
const HEAD = { apiVersion: true, kind: true } as const;
/** Unused for cluster-scoped objects; core's `ObjectMeta` is also that of Pods. */
const OF_PODS = {
  'metadata.namespace': true,
  'metadata.deletionGracePeriodSeconds': true,
} as const;

/** `Special` is the action for registries.conf in MCO's defaults; users cannot set it. */
type WithoutSpecial<T> = T extends readonly (infer Item)[]
  ? readonly WithoutSpecial<Item>[]
  : T extends { readonly type: infer Type }
    ? T & { readonly type: Exclude<Type, 'Special'> }
    : T extends object
      ? { readonly [K in keyof T]: WithoutSpecial<T[K]> }
      : T;

type WithOperators<T> = T extends readonly (infer Item)[]
  ? readonly WithOperators<Item>[]
  : T extends { readonly operator: string }
    ? T & { readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' }
    : T extends object
      ? { readonly [K in keyof T]: WithOperators<T[K]> }
      : T;

/** MCO's references have further fields beside the name. */
const UNREAD_OF_POOL = {
  'spec.configuration.apiVersion': true,
  'spec.configuration.fieldPath': true,
  'spec.configuration.kind': true,
  'spec.configuration.namespace': true,
  'spec.configuration.resourceVersion': true,
  'spec.configuration.uid': true,
  'spec.configuration.source[].fieldPath': true,
  'spec.configuration.source[].namespace': true,
  'spec.configuration.source[].resourceVersion': true,
  'spec.configuration.source[].uid': true,
  'status.configuration.apiVersion': true,
  'status.configuration.fieldPath': true,
  'status.configuration.kind': true,
  'status.configuration.namespace': true,
  'status.configuration.resourceVersion': true,
  'status.configuration.uid': true,
  'status.configuration.source[].fieldPath': true,
  'status.configuration.source[].namespace': true,
  'status.configuration.source[].resourceVersion': true,
  'status.configuration.source[].uid': true,
} as const;

const same = <T>(value: T): T => value;

describe('the schema and the types of core agree in both directions', () => {
  it('MachineConfig', () => {
    type Declared = Schema<typeof schemas.MachineConfig>;
    const there: (value: Declared) => MachineConfig = same;
    // In MCO's tests, `config` may also be a text.
    type WithObject = Omit<MachineConfig, 'spec'> & {
      readonly spec: Omit<MachineConfig['spec'], 'config'> & {
        readonly config?: Readonly<Record<string, unknown>>;
      };
    };
    const back: (value: WithObject) => Declared = same;
    const unread: OnlyIn<Declared, MachineConfig> = {};
    const undeclared: OnlyIn<MachineConfig, Declared> = OF_PODS;

    const object = { metadata: { name: 'a' }, spec: { kernelArguments: ['b'] } };
    expect([there(object), back(object)]).toEqual([object, object]);
    expect({ ...unread, ...undeclared }).toEqual(OF_PODS);
  });

  it('MachineConfigNode', () => {
    type Declared = Schema<typeof schemas.MachineConfigNode>;
    const there: (value: Declared) => MachineConfigNode = same;
    const unread: OnlyIn<Declared, MachineConfigNode> = {
      ...HEAD,
      'status.conditions[].observedGeneration': true,
    };
    // Stored as a condition (adapters/kube/host-report.ts).
    type Stored = Omit<MachineConfigNode, 'status'> & {
      readonly status?: Omit<NonNullable<MachineConfigNode['status']>, 'drift' | 'hostWorker'>;
    };
    const undeclared: OnlyIn<Stored, Declared> = OF_PODS;

    const name = { name: 'n' };
    const spec = { node: name, pool: name, configVersion: { desired: 'x' } };
    const object = { metadata: name, spec };
    expect(there(object)).toBe(object);
    expect([unread, undeclared]).toHaveLength(2);
  });

  it('MachineConfigPool', () => {
    type Declared = Schema<typeof schemas.MachineConfigPool>;
    // As in MCO, the CRD allows conditions without reason and time. Slipway reads only its own.
    type WithConditions = Omit<Declared, 'status'> & {
      readonly status?: Omit<NonNullable<Declared['status']>, 'conditions'> & {
        readonly conditions?: readonly Condition[];
      };
    };
    const there: (value: WithConditions) => MachineConfigPool = same;
    // An object of an older CRD may have any operator; `compileSelector` checks it.
    const back: (value: WithOperators<MachineConfigPool>) => Declared = same;
    const unread: OnlyIn<Declared, MachineConfigPool> = {
      ...HEAD,
      ...UNREAD_OF_POOL,
    };
    const undeclared: OnlyIn<MachineConfigPool, Declared> = OF_PODS;

    const object = { metadata: { name: 'worker' }, spec: { maxUnavailable: '10%' } };
    expect([there(object), back(object)]).toEqual([object, object]);
    expect([unread, undeclared]).toHaveLength(2);
  });

  it('RolloutPolicy', () => {
    type Declared = Schema<typeof schemas.RolloutPolicy>;
    const there: (value: Declared) => RolloutPolicy = same;
    const back: (value: RolloutPolicy) => Declared = same;
    const unread: OnlyIn<Declared, RolloutPolicy> = HEAD;
    const undeclared: OnlyIn<RolloutPolicy, Declared> = OF_PODS;

    const object = { metadata: { name: 'worker' }, spec: { canary: { nodes: 2 } } };
    expect([there(object), back(object)]).toEqual([object, object]);
    expect([unread, undeclared]).toHaveLength(2);
  });

  it('PoolRollout', () => {
    type Declared = Schema<typeof schemas.PoolRollout>;
    // Slipway writes `serves: true` or nothing.
    type WithGrants = Omit<Declared, 'status'> & {
      readonly status?: Omit<NonNullable<Declared['status']>, 'grants'> & {
        readonly grants: readonly Grant[];
      };
    };
    const there: (value: WithGrants) => PoolRollout = same;
    const unread: OnlyIn<Declared, PoolRollout> = HEAD;
    const undeclared: OnlyIn<PoolRollout, Declared> = OF_PODS;

    const object = { metadata: { name: 'worker' } };
    expect(there(object)).toBe(object);
    expect([unread, undeclared]).toHaveLength(2);
  });

  it('Slipway', () => {
    type Declared = Schema<typeof schemas.Slipway>;
    const there: (value: Declared) => Slipway = same;
    const unread: OnlyIn<Declared, Slipway> = HEAD;
    const undeclared: OnlyIn<Slipway, Declared> = OF_PODS;

    const object = { metadata: { name: 'cluster' } };
    expect(there(object)).toBe(object);
    expect([unread, undeclared]).toHaveLength(2);
  });

  it('the disruption policies of a MachineConfiguration', () => {
    type Declared = NonNullable<
      Schema<typeof schemas.MachineConfiguration>['spec']['nodeDisruptionPolicy']
    >;
    const back: (value: WithoutSpecial<NodeDisruptionPolicy>) => Declared = same;
    // A rule of the CRD, which no type expresses, requires `reload` for a Reload.
    type Action = NonNullable<Declared['files']>[number]['actions'][number];
    const there: (value: Action['type']) => Exclude<DisruptionAction['type'], 'Special'> = same;
    const unread: OnlyIn<Declared, NodeDisruptionPolicy> = {};
    // Says where it was read.
    const undeclared: OnlyIn<NodeDisruptionPolicy, Declared> = {
      'files[].field': true,
      'units[].field': true,
      'sshkey.field': true,
    };

    const object = { sshkey: { actions: [] } };
    expect(back(object)).toBe(object);
    expect(there('Drain')).toBe('Drain');
    expect([unread, undeclared]).toHaveLength(2);
  });
});
