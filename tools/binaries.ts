import type { BinaryName } from './binaries/catalogue';
import { resolveBinary } from './binaries/resolve';
import { readSettings } from './binaries/settings';

export { BINARY_NAMES, CLUSTER_BINARY_NAMES, type BinaryName } from './binaries/catalogue';
export { ensureRustProgram } from './binaries/rust-programs';

/**
 * The path of a program of the development servers. Finds it (environment variable, PATH, cache) or
 * gets it (official release, build with Go). The first time takes minutes; progress goes to stderr.
 *
 * @throws Error that names what was tried and which Go is needed
 */
export function ensureBinary(name: BinaryName): Promise<string> {
  return resolveBinary(name, { settings: readSettings() });
}
