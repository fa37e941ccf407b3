import { osStatus } from '../../../cli/commands/os-status';
import { EXIT } from '../../../cli/exit-codes';
import type { CliOs, ClusterOs } from '../../../cli/os/cluster-os';
import type { OutputFormat } from '../../../cli/output';
import type { MachineConfig } from '../../../core/machine-config';
import { ANNOTATION, LABEL } from '../../../core/names';
import { preparedMark } from '../../../core/node/prepared';
import type { MachineConfigNode, Node } from '../../../core/node/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { aContext } from './os-context';

const image = (digit: string): string => `quay.io/okd/os@sha256:${digit.repeat(64)}`;
const shown = (digit: string): string => `quay.io/okd/os@sha256:${digit.repeat(12)}`;

function aRendered(name: string, osImageURL: string, more: object = {}): MachineConfig {
  return { metadata: { name, ...more }, spec: { osImageURL } };
}

const OLD = aRendered('rendered-worker-1', image('1'));
const NEW = aRendered('rendered-worker-2', image('2'));

function aPool(name: string, config: string, sources: readonly string[] = []): MachineConfigPool {
  return {
    metadata: { name },
    spec: {
      nodeSelector: { matchLabels: { role: name } },
      configuration: { name: config, source: sources.map((one) => ({ name: one })) },
    },
  };
}

function aNode(name: string, config: string | undefined, role = 'worker'): Node {
  const annotations = config === undefined ? {} : { [ANNOTATION.CURRENT_CONFIG]: config };
  return { metadata: { name, labels: { role }, annotations } };
}

const run = { id: 'run', startedAt: '2030-01-01T00:00:00.000Z' };

/** Its host has staged the config. */
function prepared(name: string, config: string): [string, MachineConfigNode] {
  const annotations = { [ANNOTATION.PREPARED]: preparedMark(run, config, false) };
  return [name, { metadata: { name, annotations } } as unknown as MachineConfigNode];
}

interface Given {
  readonly pools: readonly MachineConfigPool[];
  readonly nodes: readonly Node[];
  readonly configs?: readonly MachineConfig[];
  readonly prepared?: readonly [string, MachineConfigNode][];
  readonly cluster?: ClusterOs;
}

async function status(
  { pools, nodes, configs = [OLD, NEW], prepared: waiting = [], cluster }: Given,
  output: OutputFormat = 'table',
): Promise<{ readonly out: string; readonly err: string; readonly reads: readonly string[] }> {
  const reads: string[] = [];
  const os = {
    ofCluster: () => Promise.resolve(cluster),
    machineConfig: (name: string) => {
      if (name === '') throw new Error('no object has an empty name');
      reads.push(name);
      return Promise.resolve(configs.find(({ metadata }) => metadata.name === name));
    },
  } as unknown as CliOs;
  const view = { pools, nodes, machineConfigNodes: new Map(waiting) };
  const { context, out, err } = aContext(os, view);
  expect(await osStatus(context, output)).toBe(EXIT.OK);
  return { out: out.join(''), err: err.join(''), reads };
}

const ROLLING: Given = {
  pools: [aPool('worker', NEW.metadata.name)],
  nodes: [
    aNode('w1', NEW.metadata.name),
    aNode('w2', OLD.metadata.name),
    aNode('w3', OLD.metadata.name),
    aNode('w4', undefined),
  ],
  prepared: [prepared('w2', NEW.metadata.name)],
};

it('shows the wanted image first, and how many nodes have staged and booted which', async () => {
  const { out, reads } = await status(ROLLING);
  expect(out.split('\n')).toEqual([
    'POOL     IMAGE                                WANTED BY          STAGED   BOOTED',
    `worker   ${shown('2')}   ControllerConfig   1        1 of 4`,
    `worker   ${shown('1')}                      0        2 of 4`,
    'worker   unknown                                                 0        1 of 4',
    '',
  ]);
  expect(reads.filter((name) => name === NEW.metadata.name)).toHaveLength(1);
});

it('has the whole digests and the same counts as JSON', async () => {
  const cluster = {
    ...{ osImage: image('2'), extensionsImage: '' },
    ...{ releaseImage: image('9'), version: '4.20.0' },
  };
  const { out } = await status({ ...ROLLING, cluster }, 'json');
  expect(JSON.parse(out)).toEqual({
    cluster,
    pools: [
      {
        pool: 'worker',
        nodes: 4,
        images: [
          { image: image('2'), wantedBy: 'ControllerConfig', staged: 1, booted: 1 },
          { image: image('1'), staged: 0, booted: 2 },
          { image: 'unknown', staged: 0, booted: 1 },
        ],
      },
    ],
  });
});

it('names the release above the pools', async () => {
  const cluster = { osImage: '', extensionsImage: '', releaseImage: image('9'), version: '4.20.0' };
  const { out } = await status({ ...ROLLING, cluster });
  expect(out.split('\n')[0]).toBe(`Release 4.20.0, ${shown('9')}`);
});

it('names the MachineConfig that wins over the image of the cluster, and its extensions image', async () => {
  const annotations = { [ANNOTATION.OS_IMAGE_URL_OVERRIDDEN]: 'true' };
  const rendered = aRendered('rendered-gpu-1', image('3'), { annotations });
  const labels = { [LABEL.ROLE]: 'gpu' };
  const { out } = await status(
    {
      pools: [aPool('gpu', 'rendered-gpu-1', ['50-os', '60-files', '70-gone'])],
      nodes: [aNode('g1', 'rendered-gpu-1', 'gpu')],
      configs: [
        { ...rendered, spec: { ...rendered.spec, baseOSExtensionsContainerImage: image('4') } },
        { metadata: { name: '50-os', labels }, spec: { osImageURL: image('3') } },
        { metadata: { name: '60-files', labels }, spec: {} },
      ],
    },
    'wide',
  );
  expect(out.split('\n')[1]?.split(/ {3,}/)).toEqual([
    ...['gpu', image('3'), 'MachineConfig 50-os', '0', '1 of 1', image('4')],
  ]);
});

it('names the stream that a pool has chosen or inherits', async () => {
  const worker = aPool('worker', NEW.metadata.name);
  const chosen = { ...worker, spec: { ...worker.spec, osImageStream: { name: 'rhel-10' } } };
  const { out } = await status({ pools: [aPool('gpu', NEW.metadata.name), chosen], nodes: [] });
  expect(out.match(/stream rhel-10/g)).toHaveLength(2);
});

it('shows machines that keep their image, and pools without nodes or without a config', async () => {
  const { out } = await status({
    pools: [aPool('new', 'lost'), aPool('plain', 'rendered-plain-1')],
    nodes: [aNode('p1', 'rendered-plain-1', 'plain')],
    configs: [aRendered('rendered-plain-1', '')],
  });
  expect(out.split('\n').slice(1)).toEqual(['plain   none    nothing     0        1 of 1', '']);
  const { err } = await status({ pools: [], nodes: [] });
  expect(err).toBe('no pool has a rendered config or a node\n');
});

it('counts no image as staged that the node runs already, or whose update was another one', async () => {
  const taken = aNode('w2', OLD.metadata.name);
  const later = { [ANNOTATION.UPDATE_RUN]: 'v1/2031-01-01T00:00:00.000Z/later' };
  const annotations = { ...taken.metadata.annotations, ...later };
  const { out } = await status(
    {
      ...ROLLING,
      nodes: [aNode('w1', NEW.metadata.name), { metadata: { ...taken.metadata, annotations } }],
      prepared: [prepared('w1', NEW.metadata.name), prepared('w2', NEW.metadata.name)],
    },
    'json',
  );
  expect(JSON.parse(out)).toMatchObject({ pools: [{ images: [{ staged: 0 }, { staged: 0 }] }] });
});
