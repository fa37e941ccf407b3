import { describeCrashes } from './describe-crashes';

// Every call in test/integration/host/crash.test.ts.
describeCrashes(23);
