import { readFile } from 'node:fs/promises';
import { workflowBundle } from './support/bundle';

describe('the workflow bundle', () => {
  let code: string;

  beforeAll(async () => {
    code = await readFile(await workflowBundle(), 'utf8');
  }, 60_000);

  it('exports both workflows under the names that the server knows', () => {
    expect(code).toContain('poolRollout');
    expect(code).toContain('updateNode');
  });

  it.each(['zod', 'pino', '@kubernetes/client-node', '@temporalio/client', '@temporalio/worker'])(
    'does not contain %s',
    async (name) => {
      const modules = sourcesOf(code).filter((source) => source.includes(`node_modules/${name}/`));

      expect(modules).toEqual([]);
    },
  );

  it('contains only the sources of core/ and workflows/', () => {
    const ours = sourcesOf(code).filter((source) => !source.includes('node_modules'));
    const outside = ours.filter((source) =>
      /\/(activities|adapters|workers|tools|cli)\//.test(source),
    );

    expect(ours.some((source) => source.endsWith('workflows/pool/pool-rollout.ts'))).toBe(true);
    expect(outside).toEqual([]);
  });
});

function sourcesOf(code: string): readonly string[] {
  const encoded = /sourceMappingURL=data:application\/json;[^,]*base64,([A-Za-z0-9+/=]+)/.exec(
    code,
  );
  const map = JSON.parse(Buffer.from(encoded?.[1] ?? '', 'base64').toString('utf8')) as {
    sources: string[];
  };
  return map.sources;
}
