/** Configs with an OS image each, and a file that distinguishes them. */

import { aConfig, aFile } from './a-host';

export const image = (digit: string) => `os@sha256:${digit.repeat(64)}`;
const configOf = (name: string, digit: string) =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL: image(digit),
    config: { storage: { files: [aFile('/etc/motd', name)] } },
  });
export const OLD = configOf('old', '1');
export const NEW = configOf('new', '2');
export const NEXT = configOf('next', '3');
