import { z } from 'zod';
import { ConditionStatus, field, objectHead } from './object-schemas';

const Service = z.looseObject({ serviceName: z.string().max(255) });

const Action = z.looseObject({
  type: z.enum(['Reboot', 'Drain', 'Reload', 'Restart', 'DaemonReload', 'None']),
  reload: field(Service),
  restart: field(Service),
});

const actions = z.array(Action).max(10);

const ofStatus = {
  actions: z
    .array(Action.extend({ type: z.enum([...Action.shape.type.options, 'Special']) }))
    .max(10),
};

const Condition = z.looseObject({
  type: z.string(),
  status: ConditionStatus,
  reason: field(z.string()),
  message: field(z.string()),
  lastTransitionTime: field(z.string()),
  observedGeneration: field(z.int()),
});

/** Slipway reads only the disruption policies. */
export const MachineConfiguration = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    // The CRD refuses entries: Slipway does not support them.
    irreconcilableValidationOverrides: field(
      z.looseObject({ storage: field(z.array(z.string()).max(3)) }),
    ),
    nodeDisruptionPolicy: field(
      z.looseObject({
        files: field(
          z.array(z.looseObject({ path: z.string().min(1).max(4096), actions })).max(50),
        ),
        units: field(z.array(z.looseObject({ name: z.string().min(1).max(255), actions })).max(50)),
        sshkey: field(z.looseObject({ actions })),
      }),
    ),
  }),
  status: field(
    z.looseObject({
      observedGeneration: field(z.int()),
      nodeDisruptionPolicyStatus: field(
        z.looseObject({
          clusterPolicies: field(
            z.looseObject({
              files: field(z.array(z.looseObject({ path: z.string(), ...ofStatus })).max(100)),
              units: field(
                z.array(z.looseObject({ name: z.string().max(255), ...ofStatus })).max(100),
              ),
              sshkey: field(z.looseObject(ofStatus)),
            }),
          ),
        }),
      ),
      conditions: field(z.array(Condition)),
    }),
  ),
});
