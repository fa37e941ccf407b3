/** Answers of gRPC that are no success. */

/** https://grpc.io/docs/guides/status-codes/ */
export const STATUS = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  UNAUTHENTICATED: 16,
} as const;

/** What a host asked for and does not get; the label of the metric. */
export const REFUSAL_REASONS = [
  'not-a-node',
  'certificate-expired',
  'unknown-call',
  'other-queue',
  'other-namespace',
  'other-task',
  'malformed',
  'too-large',
  'too-slow',
  'too-many-calls',
] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal';
  constructor(
    readonly code: number,
    readonly reason: RefusalReason,
    message: string,
  ) {
    super(message);
  }
}
