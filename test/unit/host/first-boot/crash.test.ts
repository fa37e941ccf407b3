import { AT_SOME_CALLS } from '../dying-process';
import { describeFirstBootCrashes } from './describe-first-boot-crashes';

describeFirstBootCrashes(AT_SOME_CALLS);
