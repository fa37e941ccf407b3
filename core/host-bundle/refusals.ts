import { CONTROLLER_CONFIG } from '../controller-config';
import type { FieldStep } from '../field-path';
import { composeBundle } from './compose';

interface BundleRefusal {
  readonly path: readonly FieldStep[];
  readonly problem: string;
  readonly fix: string;
}

/** What is wrong in a ControllerConfig alone, without the Secret that it names. */
export function bundleRefusals(controllerConfig: unknown): readonly BundleRefusal[] {
  const { problems } = composeBundle(controllerConfig, { state: 'unread', because: '' });
  return problems.flatMap(({ object, path, problem, fix }) =>
    object === `controllerconfig ${CONTROLLER_CONFIG}`
      ? [{ path: stepsOf(path), problem, fix }]
      : [],
  );
}

/** `spec.list[0].field` */
function stepsOf(path: string): readonly FieldStep[] {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  return steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step));
}
