/** What a kubelet refuses of its configuration, at start or while it reads it. */
export type { ReservationsBeside } from './problem';
export { kubeletProblems } from './validate';
