import { AT_SOME_CALLS } from '../dying-process';
import { describeUndoCrashes } from './describe-undo-crashes';

describeUndoCrashes(AT_SOME_CALLS);
