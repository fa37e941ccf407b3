/** The product's cluster activities, read from their sources, with a bug in them. */

import { createRequire } from 'node:module';
import { transformSync } from '@swc/core';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { createClusterActivities } from '../../../activities/cluster/cluster-activities';
import type { createStep } from '../../../activities/cluster/step/step';
import { repositoryRoot } from '../../../tools/repository-root';
import { changedOnce, type Change } from '../changed-once';

const required = createRequire(__filename);

/** What a cluster worker runs. */
export interface ClusterCode {
  readonly createClusterActivities: typeof createClusterActivities;
  readonly createStep: typeof createStep;
}

type Require = (name: string) => unknown;
type Module = (exports: object, require: Require) => void;

/** Modules without a bug, by path: most are the same for all bugs. */
const compiled = new Map<string, Module>();

/** @throws an `Error` when a text is not in its file exactly once */
export function plantedCode(changes: readonly Change[], bug: string): ClusterCode {
  const texts = changedTexts(changes, bug);
  const loaded = new Map<string, object>();
  const load = (path: string): object => {
    const known = loaded.get(path);
    if (known !== undefined) return known;
    const exports = {};
    loaded.set(path, exports);
    const text = texts.get(path);
    const run = text === undefined ? compiledOf(path) : compile(text);
    run(exports, (name) => (name.startsWith('.') ? load(fileOf(path, name)) : required(name)));
    return exports;
  };
  const activities = join(repositoryRoot(), 'activities', 'cluster');
  return {
    ...load(join(activities, 'cluster-activities.ts')),
    ...load(join(activities, 'step', 'step.ts')),
  } as ClusterCode;
}

/** By path. */
function changedTexts(changes: readonly Change[], bug: string): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (const change of changes) {
    if (change.file === undefined) continue;
    const path = join(repositoryRoot(), change.file);
    texts.set(path, changedOnce(texts.get(path) ?? readFileSync(path, 'utf8'), change, bug));
  }
  return texts;
}

function fileOf(importer: string, name: string): string {
  const path = join(dirname(importer), name);
  const file = `${path}.ts`;
  return existsSync(file) ? file : join(path, 'index.ts');
}

function compiledOf(path: string): Module {
  const known = compiled.get(path) ?? compile(readFileSync(path, 'utf8'));
  compiled.set(path, known);
  return known;
}

function compile(text: string): Module {
  const { code } = transformSync(text, {
    jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
    module: { type: 'commonjs' },
    swcrc: false,
  });
  // In this realm, in which time is virtual and errors are errors.
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- it is the product's own code
  return new Function('exports', 'require', code) as Module;
}
