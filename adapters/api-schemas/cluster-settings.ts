/** Objects of config.openshift.io that change what kubelets get. */

import { z } from 'zod';
import { field, objectHead } from './object-schemas';
import { TlsSecurityProfile } from './tls-security-profile';

const status = field(z.looseObject({}));

export const FeatureGate = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    featureSet: field(z.string()),
    customNoUpgrade: field(
      z
        .looseObject({
          enabled: field(z.array(z.string())),
          disabled: field(z.array(z.string())),
        })
        .nullable(),
    ),
  }),
  status,
});

/** Not the Node of a machine. */
export const ConfigNode = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    cgroupMode: field(z.enum(['', 'v2'])),
    workerLatencyProfile: field(
      z.enum(['', 'Default', 'MediumUpdateAverageReaction', 'LowUpdateSlowReaction']),
    ),
  }),
  status,
});

export const APIServer = z.looseObject({
  ...objectHead,
  spec: z.looseObject({ tlsSecurityProfile: field(TlsSecurityProfile) }),
  status,
});
