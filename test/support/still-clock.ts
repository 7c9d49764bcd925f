/** The clock stands still: what is bounded by time is read on a busy machine as on an idle one. */
import { mock } from 'node:test';

mock.method(performance, 'now', () => 0);
