'use strict';
// For @grpc/grpc-js: a worker speaks gRPC through its native module and only compares status codes.
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
