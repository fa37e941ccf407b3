/** An instant as Kubernetes writes it: in UTC, whole seconds. @param at - milliseconds since 1970 */
export function rfc3339(at: Date | number): string {
  return new Date(at).toISOString().replace(/\.\d{3}Z$/, 'Z');
}
