/** `slipway os status`. */

import { EXIT, type ExitCode } from '../exit-codes';
import type { ClusterOs } from '../os/cluster-os';
import { type ImageCount, poolImages, type PoolImages } from '../os/pool-images';
import { type OutputFormat, printListing } from '../output';
import type { CliContext } from '../ports';
import { printMachineReadable } from './rollout';

interface Row extends ImageCount {
  readonly pool: string;
  readonly nodes: number;
}

export async function osStatus(context: CliContext, output: OutputFormat): Promise<ExitCode> {
  const cluster = await context.cluster();
  const [view, ofCluster] = await Promise.all([cluster.read(), cluster.os.ofCluster()]);
  const pools = await poolImages(cluster.os, view);
  const found = { ...(ofCluster === undefined ? {} : { cluster: ofCluster }), pools };
  if (printMachineReadable(context, output, found)) return EXIT.OK;
  const release = releaseText(ofCluster);
  if (release !== '') context.terminal.out.write(`${release}\n\n`);
  const shown = output === 'wide' ? (image: string) => image : shortImage;
  printListing<Row>(
    {
      columns: [
        { header: 'POOL', value: ({ pool }) => pool },
        { header: 'IMAGE', value: ({ image }) => shown(image) || 'none' },
        { header: 'WANTED BY', value: ({ wantedBy }) => wantedBy ?? '' },
        { header: 'STAGED', value: ({ staged }) => String(staged) },
        { header: 'BOOTED', value: ({ booted, nodes }) => `${booted} of ${nodes}` },
        { header: 'EXTENSIONS', wide: true, value: (row) => row.extensionsImage ?? '' },
      ],
      rows: pools.flatMap(rowsOf),
      data: (row) => row,
      empty: 'no pool has a rendered config or a node',
    },
    output,
    context.terminal,
  );
  return EXIT.OK;
}

function rowsOf({ pool, nodes, images }: PoolImages): readonly Row[] {
  return images.map((count) => ({ pool, nodes, ...count }));
}

function releaseText(cluster: ClusterOs | undefined): string {
  if (cluster === undefined) return '';
  const { version, releaseImage } = cluster;
  if (version === '' && releaseImage === '') return '';
  return `Release ${[version, shortImage(releaseImage)].filter((text) => text !== '').join(', ')}`;
}

/** As many digits of the digest as tell images apart. */
function shortImage(image: string): string {
  return image.replace(/(@sha256:[0-9a-f]{12})[0-9a-f]+$/, '$1');
}
