import type { CliOs } from '../../../cli/os/cluster-os';
import type { CliCluster, CliContext, ClusterView } from '../../../cli/ports';
import { openTerminal } from '../../../cli/terminal';
import { aView, NO_DOCTOR, NO_STREAMS, NO_SUPPORT } from './cluster-view';

/** A cluster without Temporal. */
export function aContext(
  os: CliOs,
  view: Partial<ClusterView>,
): { readonly context: CliContext; readonly out: string[]; readonly err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  const stream = (into: string[]) => ({ write: (text: string) => into.push(text) });
  const streams = { out: stream(out), err: stream(err) } as unknown as Parameters<
    typeof openTerminal
  >[0];
  const cluster: Partial<CliCluster> = { os, read: () => Promise.resolve(aView(view)) };
  const context: CliContext = {
    terminal: openTerminal(streams, { color: false, env: {} }),
    now: () => 0,
    signal: new AbortController().signal,
    user: () => Promise.resolve(undefined),
    cluster: () => Promise.resolve(cluster as CliCluster),
    temporal: () => Promise.reject(new Error('nobody asks Temporal')),
    temporalSetup: () => Promise.reject(new Error('nobody sets up')),
    doctor: NO_DOCTOR,
    support: NO_SUPPORT,
    streams: NO_STREAMS,
  };
  return { context, out, err };
}
