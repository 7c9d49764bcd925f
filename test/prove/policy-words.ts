// npm run prove: random words as the policy decodes them against what bash gives to a command.
import { compareExpansions, compareWords } from '../support/policy-words.ts';

const count = process.env['TRL_PROVE'] === 'full' ? 40_000 : 10_000;
const seed = Number(process.env['TRL_SEED'] ?? Date.now() % 2 ** 31);
process.stdout.write(`${count} words, TRL_SEED=${seed}\n`);
compareWords(count, seed);
const resolved = compareExpansions(count / 4, seed);
process.stdout.write(`${resolved} of ${count / 4} expansions of known variables resolved\n`);
process.stdout.write('none is decoded differently\n');
