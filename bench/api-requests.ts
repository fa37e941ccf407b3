/**
 * Slipway's requests to the API server, from the server's own metrics.
 *
 * The metrics name resource and verb but not the client, so Slipway's part is what nobody else on
 * the bench's cluster sends: writes of Nodes (not of their status, which the simulated kubelets and
 * KWOK write), MachineConfigs, pools and MachineConfigNodes, and evictions; reads of those kinds and
 * of pods. Leases and events are left out.
 */

import type { Cluster } from '../tools/cluster';

export interface ApiRequests {
  readonly writes: number;
  /** GET and LIST, and the end of each WATCH. */
  readonly reads: number;
}

const WRITE_VERBS = new Set(['POST', 'PUT', 'PATCH', 'APPLY', 'DELETE']);
const READ_VERBS = new Set(['GET', 'LIST', 'WATCH']);
const OURS = new Set([
  'machineconfigs',
  'machineconfigpools',
  'machineconfignodes',
  'rolloutpolicies',
]);

export async function countApiRequests(cluster: Cluster): Promise<ApiRequests> {
  let writes = 0;
  let reads = 0;
  for (const line of (await cluster.apiServerMetrics()).split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue;
    const labels = labelsOf(line);
    const count = Number(line.slice(line.lastIndexOf(' ') + 1));
    if (isWriteOfOurs(labels)) writes += count;
    else if (isReadOfOurs(labels)) reads += count;
  }
  return { writes, reads };
}

export function difference(after: ApiRequests, before: ApiRequests): ApiRequests {
  return { writes: after.writes - before.writes, reads: after.reads - before.reads };
}

type Labels = Readonly<Record<string, string>>;

function isWriteOfOurs({ verb = '', resource = '', subresource = '' }: Labels): boolean {
  if (!WRITE_VERBS.has(verb)) return false;
  if (OURS.has(resource)) return true;
  if (resource === 'nodes') return subresource === '';
  return resource === 'pods' && subresource === 'eviction';
}

function isReadOfOurs({ verb = '', resource = '' }: Labels): boolean {
  return (
    READ_VERBS.has(verb) && (OURS.has(resource) || resource === 'nodes' || resource === 'pods')
  );
}

function labelsOf(line: string): Labels {
  return Object.fromEntries(
    [...line.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name ?? '', value ?? '']),
  );
}
