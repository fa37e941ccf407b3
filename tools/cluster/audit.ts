/** Changes of Nodes and removals of pods by Slipway's users. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface AuditFiles {
  readonly policy: string;
  readonly log: string;
}

const USERS = ['slipway-controllers', 'slipway-cluster-worker', 'slipway-server'];

const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    {
      // Shows which version of the Node was written.
      level: 'RequestResponse',
      users: USERS,
      verbs: ['patch', 'update'],
      resources: [{ group: '', resources: ['nodes'] }],
    },
    {
      level: 'Metadata',
      users: USERS,
      verbs: ['delete', 'deletecollection'],
      resources: [{ group: '', resources: ['pods'] }],
    },
    { level: 'None' },
  ],
};

/** Readers can follow the log from its start. */
export async function prepareAudit(directory: string): Promise<AuditFiles> {
  const files = { policy: join(directory, 'audit-policy.json'), log: join(directory, 'audit.log') };
  await writeFile(files.policy, JSON.stringify(POLICY));
  await writeFile(files.log, '', { mode: 0o600 });
  return files;
}
