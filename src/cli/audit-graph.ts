/** `trl audit graph`: what hangs together with a command, in DOT. */
import { CommandGraphBuilder, toDot } from '../provenance/graph.ts';
import type { CliArguments } from './args.ts';
import { writeAuditOutput } from './audit-output.ts';
import { readAllEvents, findNamedEvents } from './audit-read.ts';
import { parseExecId } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';

/** As many as are looked for in each line faster than the line is read. */
const textsMax = 64;

export async function runAuditGraph(args: CliArguments): Promise<number> {
  const exec = parseExecId(requireSingleWord(args, 'audit graph', 'log'));
  const made = new CommandGraphBuilder(exec);
  for (const { event } of findNamedEvents(exec)) made.addOwnEvent(event);
  const contents = made.contents();
  if (contents.length > 0) {
    const texts = contents.length > textsMax ? undefined : contents;
    for (const { event } of readAllEvents({ kinds: ['exec.changed'], texts })) {
      made.addRelatedEvent(event);
    }
  }
  for (const { event } of readAllEvents({ kinds: ['publication.*'], texts: [exec] })) {
    made.addRelatedEvent(event);
  }
  writeAuditOutput(args, toDot(made.finish(commandsOf(made.commands().slice(1)))));
  return 0;
}

/** What others that are related ran, by exec id. */
function commandsOf(related: readonly string[]): Map<string, string> {
  const wanted = new Set(related);
  const texts = new Map<string, string>();
  if (wanted.size === 0) return texts;
  for (const { event } of readAllEvents({ kinds: ['exec.requested'], texts: related })) {
    const { command } = event.data;
    if (event.exec === undefined || !wanted.delete(event.exec)) continue;
    if (typeof command === 'string') texts.set(event.exec, command);
    if (wanted.size === 0) break;
  }
  return texts;
}
