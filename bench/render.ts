import { performance } from 'node:perf_hooks';
import { gunzipSync } from 'node:zlib';

import { encodeDataUrl } from '../core/encoding';
import type { RenderPorts } from '../core/ignition';
import { renderMachineConfig } from '../core/machine-config/render';
import type { MachineConfig } from '../core/machine-config/types';
import { LABEL } from '../core/names';

interface RenderBenchRow {
  readonly configs: number;
  readonly bytesPerFile: number;
  readonly runs: number;
  readonly medianMs: number;
  readonly worstMs: number;
  readonly goalMs: number;
  readonly withinGoal: boolean;
}

interface RenderBenchResult {
  readonly name: 'render';
  readonly rows: readonly RenderBenchRow[];
}

const PORTS: RenderPorts = {
  gunzip: (bytes) => new Uint8Array(gunzipSync(bytes)),
};

const SIZES = [
  { configs: 60, bytesPerFile: 4096, runs: 31, goalMs: 20 },
  { configs: 1000, bytesPerFile: 256, runs: 11, goalMs: 500 },
];

/** The first runs are warm-up and do not count. */
export function runRenderBench(): Promise<RenderBenchResult> {
  return Promise.resolve({ name: 'render', rows: SIZES.map(measure) });
}

function measure(size: (typeof SIZES)[number]): RenderBenchRow {
  const sources = Array.from({ length: size.configs }, (_, i) =>
    machineConfig(i, size.bytesPerFile),
  );
  for (let i = 0; i < 3; i++) render(sources);
  const times = Array.from({ length: size.runs }, () => timeOf(() => render(sources)));
  times.sort((a, b) => a - b);
  const medianMs = times[Math.floor(times.length / 2)] ?? 0;
  const worstMs = times.at(-1) ?? 0;
  return { ...size, medianMs, worstMs, withinGoal: medianMs <= size.goalMs };
}

function timeOf(action: () => void): number {
  const start = performance.now();
  action();
  return performance.now() - start;
}

function render(sources: readonly MachineConfig[]): void {
  renderMachineConfig({
    pool: 'worker',
    sources,
    controllerConfig: {
      baseOSContainerImage: 'registry.example/os@sha256:1',
      baseOSExtensionsContainerImage: 'registry.example/extensions@sha256:2',
      releaseVersion: '1.0.0',
      controllerVersion: '1',
    },
    ports: PORTS,
  });
}

/** One file of its own, one of eight shared files, and one unit. */
function machineConfig(index: number, bytes: number): MachineConfig {
  const name = `${String(index).padStart(4, '0')}-bench`;
  const contents = (seed: string): string => encodeDataUrl(seed.repeat(bytes).slice(0, bytes));
  return {
    metadata: { name, labels: { [LABEL.ROLE]: 'worker' } },
    spec: {
      config: {
        ignition: { version: '3.5.0' },
        storage: {
          files: [
            { path: `/etc/bench/${name}`, mode: 0o644, contents: { source: contents(name) } },
            { path: `/etc/bench/shared-${index % 8}`, contents: { source: `data:,${name}` } },
          ],
        },
        systemd: {
          units: [
            {
              name: `${name}.service`,
              enabled: true,
              contents:
                '[Service]\nExecStart=/usr/bin/true\n\n[Install]\nWantedBy=multi-user.target\n',
            },
          ],
        },
      },
    },
  };
}
