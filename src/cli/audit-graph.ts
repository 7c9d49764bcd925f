/** `trl audit graph`: what hangs together with a command, in DOT. */
import { toDot } from '../provenance/dot.ts';
import { CommandGraph } from '../provenance/graph.ts';
import type { Args } from './args.ts';
import { writeOut } from './audit-out.ts';
import { allEvents, eventsOf } from './audit-read.ts';
import { toExecId } from './reach.ts';
import { only } from './session.ts';

/** Kinds that tell of other commands that share something with one. */
const kinds = ['exec.changed', 'publication.*'];

export async function graph(args: Args): Promise<number> {
  const exec = toExecId(only(args, 'audit graph'));
  const made = new CommandGraph(exec);
  for (const { event } of eventsOf(exec)) made.own(event);
  for (const { event } of allEvents({ kinds })) made.other(event);
  const related = new Set(made.commands());
  const texts = new Map<string, string>();
  for (const { event } of allEvents({ kinds: ['exec.requested'] })) {
    const { command } = event.data;
    if (event.exec === undefined || !related.has(event.exec)) continue;
    if (typeof command === 'string') texts.set(event.exec, command);
  }
  writeOut(args, toDot(made.finish(texts)));
  return 0;
}
