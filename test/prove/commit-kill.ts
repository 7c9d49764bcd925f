// npm run prove: an applying process is killed at random moments; recovery finishes its work.
import { killOnce } from '../support/commit-kills.ts';

const count = process.env['TRL_PROVE'] === 'full' ? 100 : 20;
const kills = { untouched: 0, between: 0, finished: 0 };
for (let at = 0; at < count; at += 1) await killOnce(kills, 40, at % 2 === 0);
process.stdout.write(`${count} kills ${JSON.stringify(kills)}\n`);
process.stdout.write('no file was torn, every set complete, no temporary name left\n');
