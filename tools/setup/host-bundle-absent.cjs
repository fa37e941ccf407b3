'use strict';
// For modules that a process without workflows never calls; a call fails with the name of the
// module.
module.exports = new Proxy(
  {},
  {
    get(_target, name) {
      if (typeof name === 'symbol' || name === '__esModule' || name === 'default') return undefined;
      return class Absent {
        constructor() {
          throw new Error(`${name} is not in the bundle for machines`);
        }
      };
    },
  },
);
