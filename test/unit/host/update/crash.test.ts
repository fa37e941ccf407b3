import { AT_SOME_CALLS } from '../dying-process';
import { describeCrashes } from './describe-crashes';

describeCrashes(AT_SOME_CALLS);
