import { z } from 'zod';
import { Condition, field, LabelSelector, objectHead } from './object-schemas';
import { TlsSecurityProfile } from './tls-security-profile';

/** `core/kubelet` judges `kubeletConfig`; the fields here are those that the CRD refuses. */
export const KubeletConfig = z.looseObject({
  ...objectHead,
  spec: z.looseObject({
    machineConfigPoolSelector: field(LabelSelector),
    autoSizingReserved: field(z.boolean()),
    logLevel: field(z.int32().min(0).max(10)),
    kubeletConfig: field(
      z.looseObject({
        cgroupDriver: field(z.string()),
        clusterDNS: field(z.array(z.string())),
        clusterDomain: field(z.string()),
        failSwapOn: field(z.boolean()),
        featureGates: field(z.record(z.string(), z.boolean())),
        memorySwap: field(z.looseObject({ swapBehavior: field(z.string()) })),
        systemReserved: field(z.record(z.string(), z.string())),
      }),
    ),
    tlsSecurityProfile: field(TlsSecurityProfile),
  }),
  status: field(
    z.looseObject({
      observedGeneration: field(z.int()),
      conditions: field(z.array(Condition)),
    }),
  ),
});
