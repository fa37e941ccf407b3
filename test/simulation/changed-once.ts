/** A bug that is put into the product, as a change of its text. */
export interface Change {
  /** A source of the cluster activities, from the root of the repository; absent = the compiled workflows. */
  readonly file?: string;
  readonly from: string;
  readonly to: string;
}

/** @throws an `Error` when the text is not in the code exactly once: then the bug no longer fits its soil */
export function changedOnce(code: string, { file, from, to }: Change, what: string): string {
  const found = code.split(from).length - 1;
  if (found !== 1) {
    const where = file ?? 'the compiled workflows';
    throw new Error(
      `the plant "${what}" is stale: its text is ${found} times in ${where}; ` +
        'adapt the plant to the source as it is now',
    );
  }
  return code.replace(from, () => to);
}
