'use strict';
// Loader for @temporalio/core-bridge: the native module stays a file beside the bundle.
module.exports = function keepNative(source) {
  const asked = 'require(nativeLibPath)';
  if (!source.includes(asked)) throw new Error(`core-bridge no longer has ${asked}`);
  return source.replace(asked, '__non_webpack_require__(nativeLibPath)');
};
