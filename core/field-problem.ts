/** Problems of fields in objects of the cluster. */

import { fieldText, type FieldStep } from './field-path';

export interface FieldProblem {
  /** Absent = the object at hand. */
  readonly object?: {
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name: string;
  };
  /** From the object to the field; empty = the object as a whole. */
  readonly path: readonly FieldStep[];
  /** What is wrong with it, without a full stop. */
  readonly problem: string;
  /** What a person should do. */
  readonly fix: string;
}

/** One line: `ImagePolicy shop/a: spec.scopes[1]: <problem>; <fix>`. */
export function fieldProblemText({ object, path, problem, fix }: FieldProblem): string {
  const { kind, namespace, name } = object ?? {};
  const place = namespace === undefined ? name : `${namespace}/${name}`;
  return [
    ...(object === undefined ? [] : [`${kind} ${place}`]),
    ...(path.length === 0 ? [] : [fieldText(path)]),
    `${problem}; ${fix}`,
  ].join(': ');
}
