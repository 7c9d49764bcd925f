// npm run prove: a command and a person in one file while the daemon is killed at any moment.
import { setTimeout as wait } from 'node:timers/promises';
import { appenders, killedWriters, savers, watchingAppender } from '../support/writer-kill.ts';

const rounds = process.env['TRL_PROVE'] === 'full' ? 200 : 12;
const commands = [...Object.values(appenders), watchingAppender];
const ways = Object.keys(savers).filter((name) => name in savers);
let conflicts = 0;
for (let round = 0; round < rounds; round += 1) {
  const command = commands[round % commands.length] ?? '';
  const saver =
    ways[Math.floor(round / commands.length) % ways.length] === 'by rename'
      ? 'by rename'
      : 'in place';
  const isWhole = await killedWriters({ command, saver, killMs: 200 + Math.random() * 2_600 });
  if (!isWhole) conflicts += 1;
  await wait(10);
}
process.stdout.write(`${rounds} kills, no line lost, ${conflicts} told as conflicts\n`);
