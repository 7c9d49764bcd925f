// npm run prove: random histories of two to four writers in one tree.
import { provenWriters } from '../support/two-writers.ts';

const runs = process.env['TRL_PROVE'] === 'full' ? 2_000 : 100;
const tally = await provenWriters({ runs });
process.stdout.write(`${JSON.stringify(tally)}\nno line of anybody was lost\n`);
