import { describeCrashes } from '../../unit/activities/host/describe-crashes';

describeCrashes(1);
