import { describeCrashes } from './describe-crashes';

// Every call in test/integration/host/crash.all.test.ts.
describeCrashes(47);
