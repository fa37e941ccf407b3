'use strict';

/** Packages that ship ES modules only; jest's CommonJS runtime needs them transformed. */
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
    }),
    project('e2e'),
    project('faults'),
    // Real machines: root, and a network of their own (tools/setup/in-namespace.sh).
    project('hosts', { globalSetup: '<rootDir>/test/hosts/support/global-setup.ts' }),
  ],
  // Two cores are what a continuous-integration machine has; the suites start real servers.
  maxWorkers: 2,
  // Whatever takes longer hangs: tests that write to disks are starved where others have the processor.
  testTimeout: 60_000,
};
