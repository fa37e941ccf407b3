'use strict';

const base = require('../../jest.config.cjs');

const workflow = base.projects.find(({ displayName }) => displayName === 'workflow');

/** Records histories: `jest --config test/replay/record.jest.cjs` (see test/histories/README.md). */
module.exports = {
  ...workflow,
  displayName: 'record',
  testMatch: ['<rootDir>/test/replay/record-histories.ts'],
};
