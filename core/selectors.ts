/** Label selectors with Kubernetes' rules. */

import type { LabelSelector } from './object-meta';

export type Labels = Readonly<Record<string, string>>;

export interface CompiledSelector {
  /** No requirement at all. Kubernetes then matches everything; pools match nothing. */
  readonly empty: boolean;
  matches(labels: Labels | undefined): boolean;
}

type Requirement = (labels: Labels) => boolean;

/**
 * @throws `Error` with Kubernetes' own words when an operator is unknown or its values are missing
 * or too many; the caller names the object that has the selector
 * @see apimachinery metav1.LabelSelectorAsSelector
 */
export function compileSelector(selector: LabelSelector | undefined): CompiledSelector {
  const requirements = [
    ...Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => isIn(key, [value])),
    ...(selector?.matchExpressions ?? []).map(requirementOf),
  ];
  return {
    empty: requirements.length === 0,
    matches: (labels = {}) => requirements.every((holds) => holds(labels)),
  };
}

function requirementOf(
  expression: NonNullable<LabelSelector['matchExpressions']>[number],
): Requirement {
  const { key, operator, values = [] } = expression;
  switch (operator) {
    case 'In':
      return isIn(key, someValues(operator, values));
    case 'NotIn': {
      const refused = isIn(key, someValues(operator, values));
      return (labels) => !refused(labels);
    }
    case 'Exists':
      noValues(values);
      return (labels) => Object.hasOwn(labels, key);
    case 'DoesNotExist':
      noValues(values);
      return (labels) => !Object.hasOwn(labels, key);
    default:
      throw new Error(`"${operator}" is not a valid label selector operator`);
  }
}

function isIn(key: string, values: readonly string[]): Requirement {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return value !== undefined && values.includes(value);
  };
}

function someValues(operator: string, values: readonly string[]): readonly string[] {
  if (values.length === 0) {
    throw new Error(`values: for '${operator}' operator, values set can't be empty`);
  }
  return values;
}

function noValues(values: readonly string[]): void {
  if (values.length > 0) {
    throw new Error('values: values set must be empty for exists and does not exist');
  }
}
