// npm run prove: tests of `npm test` that run a part of their cases there, with all of them.
import '../approval-crash.test.ts';
import '../changes-battery.test.ts';
import '../nasty.test.ts';
import '../policy-hostile.test.ts';
import '../redaction-known-hostile.test.ts';
import '../sandbox-cases.test.ts';
import '../sandbox-user.test.ts';
import '../workspace-denied.test.ts';
import '../workspace-everyday.test.ts';
