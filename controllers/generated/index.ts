export { GeneratingController, type GeneratingDeps, type Look } from './generating-controller';
export { say } from './say';
