'use strict';

/** Packages with ES modules only; jest's CommonJS runtime needs them transformed. */
const ESM_ONLY = [
  '@kubernetes/client-node',
  'jsonpath-plus',
  'openid-client',
  'oauth4webapi',
  'jose',
  'cookie',
  'socks-proxy-agent',
  'agent-base',
];

const shared = {
  rootDir: __dirname,
  testEnvironment: 'node',
  transform: {
    '^.+\\.[cm]?[jt]s$': [
      '@swc/jest',
      {
        jsc: { target: 'es2023', parser: { syntax: 'typescript' } },
        module: { type: 'commonjs' },
        sourceMaps: 'inline',
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${ESM_ONLY.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.slipway/'],
};

/** One project per test folder, cheapest first: `jest --selectProjects unit workflow`. */
const project = (name, extra = {}) => ({
  ...shared,
  displayName: name,
  testMatch: [`<rootDir>/test/${name}/**/*.test.ts`],
  ...extra,
});

module.exports = {
  projects: [
    project('unit'),
    project('workflow'),
    project('replay'),
    project('simulation'),
    // One control plane for all files, which run one after the other.
    project('integration', {
      globalSetup: '<rootDir>/test/integration/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/integration/support/global-teardown.ts',
      // The server loads these when it needs them, by the name that they have once compiled.
      moduleNameMapper: { '^(\\./(?:codec|gateway)/start)\\.js$': '$1' },
    }),
    project('e2e'),
    project('faults'),
    // Real machines need root and their own network (tools/setup/in-namespace.sh).
    project('hosts', { globalSetup: '<rootDir>/test/hosts/support/global-setup.ts' }),
  ],
  // A machine for continuous integration has two cores, and the suites start real servers.
  maxWorkers: 2,
  // Long, because tests that write to disks starve beside a busy processor. A test that takes longer hangs.
  testTimeout: 60_000,
};
