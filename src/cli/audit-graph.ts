/** `trl audit graph`: what hangs together with a command, in DOT. */
import { toDot } from '../provenance/dot.ts';
import { CommandGraph } from '../provenance/graph.ts';
import type { Args } from './args.ts';
import { writeOut } from './audit-out.ts';
import { allEvents, eventsOf } from './audit-read.ts';
import { toExecId } from './reach.ts';
import { only } from './session.ts';

/** As many as are looked for in each line faster than the line is read. */
const textsMax = 64;

export async function graph(args: Args): Promise<number> {
  const exec = toExecId(only(args, 'audit graph', 'log'));
  const made = new CommandGraph(exec);
  for (const { event } of eventsOf(exec)) made.own(event);
  const contents = made.contents();
  if (contents.length > 0) {
    const texts = contents.length > textsMax ? undefined : contents;
    for (const { event } of allEvents({ kinds: ['exec.changed'], texts })) made.other(event);
  }
  for (const { event } of allEvents({ kinds: ['publication.*'], texts: [exec] })) made.other(event);
  writeOut(args, toDot(made.finish(commandsOf(made.commands().slice(1)))));
  return 0;
}

/** What others that are related ran, by exec id. */
function commandsOf(related: readonly string[]): Map<string, string> {
  const wanted = new Set(related);
  const texts = new Map<string, string>();
  if (wanted.size === 0) return texts;
  for (const { event } of allEvents({ kinds: ['exec.requested'], texts: related })) {
    const { command } = event.data;
    if (event.exec === undefined || !wanted.delete(event.exec)) continue;
    if (typeof command === 'string') texts.set(event.exec, command);
    if (wanted.size === 0) break;
  }
  return texts;
}
