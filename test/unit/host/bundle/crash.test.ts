import { AT_SOME_CALLS } from '../dying-process';
import { describeBundleCrashes } from './describe-bundle-crashes';

describeBundleCrashes(AT_SOME_CALLS);
