// What is installed on machines, dist/host-bundle: the host worker as one file, the native module of the Temporal SDK,
// and all of deploy/host. Needs a built dist/. Uses the SDK's bundler.
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { billOfMaterials } from './bill-of-materials.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const require = createRequire(join(root, 'package.json'));
const sdk = createRequire(require.resolve('@temporalio/worker'));
const webpack = sdk('webpack');
const out = join(root, 'dist', 'host-bundle');
const absent = join(here, 'host-bundle-absent.cjs');

/** Used only by workflows, tests and tools of the SDK. */
const WITHOUT = /^(webpack|memfs|unionfs|source-map|swc-loader|@swc\/core|supports-color)$/;
const WITHOUT_IN_SDK = /^\.\.?\/(workflow\/)?(bundler|vm|threaded-vm|reusable-vm)$/;

const compiler = webpack({
  mode: 'production',
  target: 'node22',
  context: root,
  entry: join(root, 'dist', 'workers', 'host', 'main.js'),
  output: { path: out, filename: 'slipway-host.cjs', asyncChunks: false },
  node: { __dirname: false, __filename: false },
  devtool: false,
  optimization: { minimize: true, minimizer: [minimizer()], splitChunks: false },
  performance: { hints: false },
  module: {
    rules: [
      {
        test: /core-bridge[\\/]index\.js$/,
        use: [join(here, 'host-bundle-native.cjs')],
      },
    ],
  },
  plugins: [
    new webpack.NormalModuleReplacementPlugin(WITHOUT, absent),
    new webpack.NormalModuleReplacementPlugin(WITHOUT_IN_SDK, (resource) => {
      if (/@temporalio[\\/]worker[\\/]/.test(resource.context)) resource.request = absent;
    }),
    new webpack.NormalModuleReplacementPlugin(
      /^@grpc\/grpc-js$/,
      join(here, 'host-bundle-grpc.cjs'),
    ),
    new webpack.optimize.LimitChunkCountPlugin({ maxChunks: 1 }),
  ],
  ignoreWarnings: [
    /Critical dependency/,
    /Can't resolve '(bufferutil|utf-8-validate|pino-pretty)'/,
  ],
});

/** The package.json of each package of which a module is in the bundle. */
function packagesIn(stats) {
  const all = { all: false, modules: true, nestedModules: true };
  const unlimited = { modulesSpace: Infinity, nestedModulesSpace: Infinity };
  const found = new Set();
  const visit = ({ modules = [], name = '' }) => {
    modules.forEach(visit);
    const match = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(name);
    if (match !== null) found.add(match[0]);
  };
  visit(stats.toJson({ ...all, ...unlimited }));
  return [...found].map((directory) =>
    JSON.parse(readFileSync(join(root, directory, 'package.json'), 'utf8')),
  );
}

/** All but the list itself, for `sha256sum --check`. */
function digestsOf(directory) {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
    .map((path) => {
      const digest = createHash('sha256').update(readFileSync(join(directory, path)));
      return `${digest.digest('hex')}  ${path}\n`;
    })
    .join('');
}

/**
 * Keeps names for stack traces. One character beyond ASCII would double the memory of the code.
 */
function minimizer() {
  const Terser = createRequire(sdk.resolve('webpack'))('minimizer-webpack-plugin');
  return new (Terser.default ?? Terser)({
    extractComments: false,
    terserOptions: {
      keep_fnames: true,
      keep_classnames: true,
      format: { comments: false, ascii_only: true },
    },
  });
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
compiler.run((error, stats) => {
  if (error !== null) throw error;
  if (stats.hasErrors()) {
    process.stderr.write(`${stats.toString({ all: false, errors: true })}\n`);
    process.exitCode = 1;
    return;
  }
  const { name, version } = require('./package.json');
  writeFileSync(join(out, 'package.json'), `${JSON.stringify({ name, version })}\n`);
  const bridge = dirname(require.resolve('@temporalio/core-bridge'));
  const { getPrebuiltTargetName } = require('@temporalio/core-bridge/common');
  const native = join('releases', getPrebuiltTargetName(), 'index.node');
  cpSync(join(bridge, native), join(out, native));
  writeFileSync(join(out, 'files.sha256'), digestsOf(out));
  const bridgePackage = JSON.parse(readFileSync(join(bridge, 'package.json'), 'utf8'));
  const bill = billOfMaterials([...packagesIn(stats), bridgePackage]);
  writeFileSync(join(out, 'sbom.spdx.json'), `${JSON.stringify(bill, null, 1)}\n`);
  cpSync(join(root, 'deploy', 'host'), out, { recursive: true });
  const size = stats.toJson({ all: false, assets: true }).assets[0]?.size ?? 0;
  process.stderr.write(
    `slipway: dist/host-bundle: ${Math.round(size / 1024)} KiB and the native module\n`,
  );
});
