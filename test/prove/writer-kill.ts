// npm run prove: a command and a person in one file while the daemon is killed at any moment.
import { setTimeout as wait } from 'node:timers/promises';
import { appenders, killedWriters, savers, watchingAppender } from '../support/writer-kill.ts';

const rounds = process.env['TRL_PROVE'] === 'full' ? 200 : 12;
const commands = [...Object.values(appenders), watchingAppender];
const ways = Object.keys(savers).filter((name) => name in savers);
const lanes = 4;
let [begun, conflicts] = [0, 0];

/** Each has a runtime and a tree of its own. */
async function lane(): Promise<void> {
  while (begun < rounds) {
    const round = begun;
    begun += 1;
    const command = commands[round % commands.length] ?? '';
    const way = ways[Math.floor(round / commands.length) % ways.length];
    const saver = way === 'by rename' ? 'by rename' : 'in place';
    const isWhole = await killedWriters({ command, saver, killMs: 200 + Math.random() * 2_600 });
    if (!isWhole) conflicts += 1;
    if (begun % 20 === 0) process.stdout.write(`${begun} kills\n`);
    await wait(10);
  }
}
await Promise.all(Array.from({ length: lanes }, lane));
process.stdout.write(`${rounds} kills, no line lost, ${conflicts} told as conflicts\n`);
