export {
  isJoinTokenExpired,
  isJoinTokenForgettable,
  JOIN_DESCRIPTION_LIMIT,
  JOIN_TOKEN_TTL,
  JOIN_TOKEN_USE_SECONDS,
  readJoinTokenRecord,
  type JoinTokenRecord,
  type StoredJoinToken,
} from './record';
export { pointerIgnition, type Pointer } from './pointer';
export { type HostWorkerSource, stockCloudConfig } from './stock-machine';
export {
  bearerToken,
  hashJoinSecret,
  isJoinTokenId,
  newJoinToken,
  parseJoinToken,
  type JoinTokenParts,
} from './token';
