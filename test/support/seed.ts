/**
 * Properties draw the same cases in each `npm test`, so that what turns it red is the change under
 * test. With TRL_PROVE=full they draw others each time.
 */
import { configureGlobal } from 'fast-check';
import { isFull } from './form.ts';

if (!isFull) configureGlobal({ seed: 20_261_122 });
