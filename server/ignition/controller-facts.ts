import type { FirstBootFacts } from '../../core/first-boot';

/** PEM in base 64; an authority that does not decode counts as absent. */
export function controllerFacts(
  config: object | undefined,
): Pick<FirstBootFacts, 'kubeletAuthority' | 'cloudAuthority'> {
  const { spec = {} } = (config ?? {}) as { readonly spec?: Readonly<Record<string, unknown>> };
  const { kubeAPIServerServingCAData: kubelet, cloudProviderCAData: cloud } = spec;
  return {
    ...(typeof kubelet === 'string' ? { kubeletAuthority: kubelet } : {}),
    ...(typeof cloud === 'string' ? { cloudAuthority: cloud } : {}),
  };
}
