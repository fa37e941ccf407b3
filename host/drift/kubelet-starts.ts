/**
 * A start of the kubelet registers the Node: one that was deleted and made again has no drift
 * report.
 */

import { KUBELET_UNITS } from '../../core/machine/kubelet';
import { runningLink } from '../../core/machine/tree';

export interface KubeletStarts {
  paths(): readonly string[];
  /**
   * Whether a touched path means a start of this machine's kubelet; undefined = it concerns no
   * kubelet.
   */
  isStart(path: string): boolean | undefined;
}

/** @param found - the unit of this machine's kubelet; undefined = none */
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
      // Another installed kubelet may fail to start for ever.
      return unit === undefined ? undefined : unit === found();
    },
  };
}
