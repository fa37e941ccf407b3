import { describeCrashes } from '../../unit/host/update/describe-crashes';

describeCrashes(1);
