import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sourceOf } from '../../../../tools/binaries/catalogue';
import { repositoryRoot } from '../../../../tools/repository-root';

it('judges with the code of the kubelet that tests run', () => {
  const manifest = readFileSync(
    join(repositoryRoot(), 'tools', 'kubelet-validation', 'go.mod'),
    'utf8',
  );

  const pinned = /^\tk8s\.io\/kubernetes v(\S+)$/m.exec(manifest)?.[1];

  expect(pinned).toBe(sourceOf('kubelet').version);
});
