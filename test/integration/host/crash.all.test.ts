/** At each call where unit tests take some (AT_SOME_CALLS). */

import { AT_EACH_CALL } from '../../unit/host/dying-process';
import { describeBundleCrashes } from '../../unit/host/bundle/describe-bundle-crashes';
import { describeFirstBootCrashes } from '../../unit/host/first-boot/describe-first-boot-crashes';
import { describeCrashes } from '../../unit/host/update/describe-crashes';
import { describeUndoCrashes } from '../../unit/host/update/describe-undo-crashes';

jest.setTimeout(600_000);

describeCrashes(AT_EACH_CALL);
describeUndoCrashes(AT_EACH_CALL);
describeFirstBootCrashes(AT_EACH_CALL);
describeBundleCrashes(AT_EACH_CALL);
