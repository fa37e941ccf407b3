/** When the kubelet starts, its Node is registered: one that was deleted before knows nothing of its host's reports. */

import { KUBELET_UNITS } from '../../core/machine/kubelet';
import { runningLink } from '../../core/machine/tree';

export interface KubeletStarts {
  /** What to watch. */
  paths(): readonly string[];
  /** Whether a touched path says that this machine's kubelet has started; undefined = it says nothing of kubelets. */
  isStart(path: string): boolean | undefined;
}

/** @param found - unit of this machine's kubelet, as it is found now; undefined = none is */
export function kubeletStarts(found: () => string | undefined): KubeletStarts {
  let units: ReadonlyMap<string, string> = new Map();
  return {
    paths() {
      const names = [...KUBELET_UNITS, found() ?? []].flat();
      units = new Map(names.map((unit) => [runningLink(unit), unit]));
      return [...units.keys()];
    },
    isStart(path) {
      const unit = units.get(path);
      // Another kubelet may be installed beside this one, and fail to start for ever.
      return unit === undefined ? undefined : unit === found();
    },
  };
}
