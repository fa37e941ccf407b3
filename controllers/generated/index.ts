export {
  GeneratingController,
  type GeneratingDeps,
  type Look,
  type RefusedWrite,
} from './generating-controller';
export { say } from './say';
