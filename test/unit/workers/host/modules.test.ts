import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

const ROOT = resolve(__dirname, '../../../..');

/** Static imports of a file, without types and dynamic imports. */
function loadedBy(file: string): readonly string[] {
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 },
  });
  const statements = outputText.matchAll(
    /^(?:import|export)\s(?:[\w*{}\s,$]+\sfrom\s)?\s*['"]([^'"]+)['"]/gm,
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
  return ts.sys.fileExists(`${plain}.ts`) ? `${plain}.ts` : join(plain, 'index.ts');
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
      /^(@kubernetes|zod|@temporalio\/(workflow|client)|fastify|prom-client|yaml|commander)/.test(
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
