import { DefaultFailureConverter } from '@temporalio/common';

/** Message and stack trace become a payload, which a codec can encode. By this name the SDK finds it. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
