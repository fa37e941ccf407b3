import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { transformFileSync } from '@swc/core';

const ROOT = resolve(__dirname, '../../../..');

/** Static imports of a file, without types and dynamic imports. */
function loadedBy(file: string): readonly string[] {
  const { code } = transformFileSync(file, {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'es6' },
    swcrc: false,
  });
  const statements = code.matchAll(
    // A comment that stands before it may be on the same line.
    /(?:^|\*\/ *)(?:import|export)\s(?:[\w*{}\s,$]+\sfrom\s)?\s*['"]([^'"]+)['"]/gm,
  );
  return [...statements].map(([, specifier]) => specifier ?? '');
}

function graphOf(entry: string): { readonly files: Set<string>; readonly packages: Set<string> } {
  const files = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (files.has(relative(ROOT, file))) return;
    files.add(relative(ROOT, file));
    for (const specifier of loadedBy(file)) {
      if (!specifier.startsWith('.')) packages.add(specifier);
      else visit(sourceOf(join(dirname(file), specifier)));
    }
  };
  visit(join(ROOT, entry));
  return { files, packages };
}

function sourceOf(path: string): string {
  const plain = path.replace(/\.js$/, '');
  return existsSync(`${plain}.ts`) ? `${plain}.ts` : join(plain, 'index.ts');
}

describe('the program before the kubelet', () => {
  it('loads no Temporal: it works when nothing else does', () => {
    const { files, packages } = graphOf('workers/host/settle-program.ts');
    const outside = [...packages].filter((name) => !name.startsWith('node:'));

    expect([...files]).toContain('host/settle/settle-at-start.ts');
    expect(outside.sort()).toEqual(['pino', 'smol-toml']);
  });
});

describe('the host worker', () => {
  const { files, packages } = graphOf('workers/host/worker.ts');

  it('loads what it needs', () => {
    expect([...files]).toContain('host/update/apply.ts');
    expect([...packages]).toContain('@temporalio/worker');
  });

  it('loads neither the Kubernetes client, nor zod, nor workflows: it runs on every machine', () => {
    const heavy = [...packages].filter((name) =>
      /^(@kubernetes|@peculiar|zod|@temporalio\/(workflow|client)|fastify|prom-client|yaml|commander)/.test(
        name,
      ),
    );
    expect(heavy).toEqual([]);
    const foreign = [...files].filter((file) =>
      /^(workflows|adapters\/kube|activities\/cluster|controllers|server|cli|tools)\//.test(file),
    );
    expect(foreign).toEqual([]);
  });
});
