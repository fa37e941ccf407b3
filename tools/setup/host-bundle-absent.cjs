'use strict';
// In the place of what a process without workflows never calls: whoever does is told.
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
