/** Contents and modes of files that no host could write. */

import { listOf, structOf, type IgnitionObject } from '../ignition';
import { reportContents, type ContentPorts } from './admission-contents';
import type { Report } from './admission-problem';

export function reportFiles(config: IgnitionObject, ports: ContentPorts, report: Report): void {
  listOf(structOf(config['storage'])['files']).forEach((file, i) => {
    const field = `spec.config.storage.files[${i}]`;
    reportMode(file['mode'] as number | undefined, `${field}.mode`, report);
    listOf(file['append']).forEach((piece, a) => {
      const part = `${field}.append[${a}]`;
      if (structOf(piece)['source'] === undefined) {
        report(
          `${part}.source`,
          'there is nothing to append',
          'add source, or leave the entry out',
        );
      }
      reportContents(structOf(piece), part, ports, report);
    });
    reportContents(structOf(file['contents']), `${field}.contents`, ports, report);
  });
}

function reportMode(mode: number | undefined, field: string, report: Report): void {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return;
  report(
    field,
    `mode 0${mode.toString(8)} has more than permission bits`,
    'use at most 511 (0777 in octal); setuid, setgid and sticky are not applied',
  );
}
