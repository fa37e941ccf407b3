import { describeCrashes } from './describe-crashes';

// test/integration/host/crash covers every call.
describeCrashes(23);
