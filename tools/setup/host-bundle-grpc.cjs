'use strict';
// In the place of @grpc/grpc-js: a worker speaks gRPC through its native module, and only compares
// status codes. Everything else belongs to clients, which a machine has none of.
const { Status } = require('@grpc/grpc-js/build/src/constants');

module.exports = {
  __esModule: true,
  status: Status,
  makeGenericClientConstructor: () =>
    class Absent {
      constructor() {
        throw new Error('the gRPC client is not in the bundle for machines');
      }
    },
};
