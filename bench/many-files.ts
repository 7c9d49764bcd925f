/**
 * npm run bench:many-files [-- --files 20000 --directories 200 --remove]
 *
 * One command makes so many small files, and with `--remove` a second one takes them away. Printed:
 * how long that takes without a runtime, in it, and from the command's end to its receipt; what the
 * daemon's memory came to; and how long the `true` of another session took meanwhile. Absolute
 * times of a machine that others use mean little: take before and after in one go.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Session } from '../src/client/index.ts';
import { Place, startDaemon } from './daemon.ts';
import { figuresOf } from './stats.ts';

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: '20000' },
    directories: { type: 'string', default: '200' },
    tree: { type: 'string', default: 'made' },
    remove: { type: 'boolean', default: false },
  },
});
const [files, directories] = [Number(values.files), Number(values.directories)];
const idleRuns = 20;

/** Writes its end, as it is seen outside, beside the workspace's tree. */
const make = String.raw`use strict; my ($tree, $files, $directories) = @ARGV;
mkdir $tree or die $!;
for my $n (0 .. $directories - 1) { mkdir "$tree/d$n" or die $! }
for my $n (0 .. $files - 1) {
  open my $f, ">", "$tree/d" . ($n % $directories) . "/f$n" or die $!;
  print $f "file $n\n", "x" x ($n % 400), "\n"; close $f;
}`;

const quote = (text: string): string => `'${text}'`;
const commands = [
  { name: 'make', of: (t: string) => `perl -e ${quote(make)} ${t} ${files} ${directories}` },
  { name: 'remove', of: (t: string) => `find ${t} -delete` },
].slice(0, values.remove ? 2 : 1);

using place = new Place();
const bare = path.join(place.dir, 'bare');
mkdirSync(bare);
const rawMs = commands.map(({ of }) => {
  const begun = performance.now();
  execFileSync('bash', ['-c', of(values.tree)], { cwd: bare });
  return performance.now() - begun;
});
await using daemon = await startDaemon(place);
const session = await daemon.client.createSession({ working_dir: place.work });
const other = await daemon.client.createSession({ working_dir: '/tmp' });
process.stdout.write(`daemon ${daemon.pid}\n`);
await session.run('true');
const idle = await trues(other, (count) => count < idleRuns);
say('another session, idle', idle);
for (const [at, { name, of }] of commands.entries()) {
  let isRunning = true;
  const meanwhile = trues(other, () => isRunning);
  // What fails first is told.
  meanwhile.catch(() => null);
  const begun = performance.now();
  const begunMs = Date.now();
  const receipt = await session.run(`${of(values.tree)}; date +%s%N >$TMPDIR/end; cat $TMPDIR/end`);
  const tookMs = performance.now() - begun;
  isRunning = false;
  const endMs = Number(receipt.stdout.trim()) / 1e6 - begunMs;
  const states = new Map<string, number>();
  for (const { state } of receipt.changes) states.set(state, (states.get(state) ?? 0) + 1);
  const raw = rawMs[at] ?? Number.NaN;
  process.stdout.write(
    `${name} ${files} files in ${directories} directories: raw ${seconds(raw)}, ` +
      `command ${seconds(endMs)}, receipt ${seconds(tookMs - endMs)} after its end, ` +
      `all ${(tookMs / raw).toFixed(1)} × raw\n` +
      `  exit ${receipt.exit_code}, ${JSON.stringify(Object.fromEntries(states))}, ` +
      `peak ${peakMb(daemon.pid).toFixed(0)} MB\n`,
  );
  say('  another session meanwhile', await meanwhile);
  const again = performance.now();
  await session.run('true');
  process.stdout.write(`  the session's next command: ${seconds(performance.now() - again)}\n`);
}

/** How long each `true` took, ms. */
async function trues(one: Session, isGoingOn: (count: number) => boolean): Promise<number[]> {
  const took: number[] = [];
  while (isGoingOn(took.length)) {
    const begun = performance.now();
    await one.run('true');
    took.push(performance.now() - begun);
  }
  return took;
}

function say(what: string, took: readonly number[]): void {
  const { p50, p99 } = figuresOf([...took]);
  const [a, b, c] = [p50, p99, Math.max(...took)].map((ms) => ms.toFixed(0));
  process.stdout.write(`${what}: p50 ${a}, p99 ${b}, max ${c} ms\n`);
}

function seconds(ms: number): string {
  return `${(ms / 1e3).toFixed(2)} s`;
}

function peakMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
