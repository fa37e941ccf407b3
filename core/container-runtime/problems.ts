/** What MCO accepts in a ContainerRuntimeConfig although it does not do what its author wants. */

import type { FieldProblem } from '../field-problem';
import type { ContainerRuntimeConfiguration, RuntimeGates, Store } from './types';
import { quantityOf } from './validate';

/** As in the CRD of MCO. */
const MOST_STORES = {
  additionalLayerStores: 5,
  additionalImageStores: 10,
  additionalArtifactStores: 10,
} as const;
type StoreField = keyof typeof MOST_STORES;

const SPEC = ['spec', 'containerRuntimeConfig'];

/**
 * Problems of a config that has no refusals; a config with problems is applied like MCO does.
 *
 * @throws Error for a quantity that the API server would have refused
 */
export function containerRuntimeProblems(
  config: ContainerRuntimeConfiguration,
  gates: RuntimeGates,
): readonly FieldProblem[] {
  return [
    ...quantityProblems(config),
    ...(Object.keys(MOST_STORES) as StoreField[]).flatMap((field) =>
      storeProblems(field, config[field] ?? [], gates),
    ),
  ];
}

function quantityProblems(config: ContainerRuntimeConfiguration): readonly FieldProblem[] {
  const problems: FieldProblem[] = [];
  const logSize = quantityOf('logSizeMax', config.logSizeMax);
  if (logSize?.value === 0n) {
    problems.push({
      path: [...SPEC, 'logSizeMax'],
      problem: '0 is ignored',
      fix: 'write a negative number for no limit, or remove the field',
    });
  }
  if (logSize !== undefined && logSize.value < -1n) {
    problems.push({
      path: [...SPEC, 'logSizeMax'],
      problem: `${logSize.text} means no limit`,
      fix: 'write -1 for no limit, or a number above 8192',
    });
  }
  if (quantityOf('overlaySize', config.overlaySize)?.value === 0n) {
    problems.push({
      path: [...SPEC, 'overlaySize'],
      problem: '0 is ignored',
      fix: 'remove the field, or write a size such as 10G',
    });
  }
  return problems;
}

function storeProblems(
  field: StoreField,
  stores: readonly Store[],
  gates: RuntimeGates,
): readonly FieldProblem[] {
  if (stores.length === 0) return [];
  const path = [...SPEC, field];
  const problems: FieldProblem[] = [];
  if (!gates.additionalStorage) {
    problems.push({
      path,
      problem: 'the stores are ignored, because the feature gate AdditionalStorageConfig is off',
      fix: 'enable the feature gate, or remove the field',
    });
  }
  const most = MOST_STORES[field];
  if (stores.length > most) {
    problems.push({
      path,
      problem: `${stores.length} stores are more than the ${most} that CRI-O is tested with`,
      fix: `keep ${most} of them`,
    });
  }
  stores.forEach((store, i) => {
    const first = stores.findIndex((other) => other.path === store.path);
    if (first === i) return;
    problems.push({
      path: [...path, i, 'path'],
      problem: `${store.path} is the same as [${first}]`,
      fix: 'remove one of them',
    });
  });
  return problems;
}
