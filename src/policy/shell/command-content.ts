/** Files whose content determines what a command does: they are hashed into an approval. */
import { parseCommandOptions } from '../commands/options.ts';
import type { CommandNode } from '../commands/schema.ts';
import { programBaseName, lookUpSubcommand } from '../commands/table.ts';
import type { ShellCommand } from '../syntax/script.ts';
import { noteContentReference, type AnalysisContext } from './analysis-context.ts';
import { isStandardInputPath, commandTail } from './derived-words.ts';

const builtins = new Set(
  (
    ': . [ alias bg bind break builtin caller cd command compgen complete continue declare dirs ' +
    'disown echo enable eval exec exit export false fc fg getopts hash help history ' +
    'jobs kill let ' +
    'local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt ' +
    'source suspend test times trap true type typeset ulimit umask unalias unset wait'
  ).split(' '),
);

const scripted = /^(?:t|tst|test|start|stop|restart)$/;

/** Notes the executable, the script it runs, and the script of `package.json`. */
export function noteCommandContent(
  called: string,
  command: ShellCommand,
  node: CommandNode | undefined,
  walk: AnalysisContext,
): void {
  if (!builtins.has(called) && !walk.script.defined.includes(called)) {
    noteContentReference(walk, 'executable', called);
  }
  if (node === undefined) return;
  const args = commandTail(command, 1);
  const { options, operands } = parseCommandOptions(args.words, node);
  const texts = operands.map((at) => args.words[at]?.value ?? null);
  const [first, second] = texts;
  if (node.script === true && !options.has('command') && !options.has('code')) {
    const stream = isStandardInputPath(first ?? '-') || first?.startsWith('/dev/') === true;
    if (typeof first === 'string' && !stream) noteContentReference(walk, 'script', first);
  }
  const base = programBaseName(called).toLowerCase();
  if (base === 'make') noteContentReference(walk, 'script', 'Makefile');
  if (!/^(?:npm|pnpm|yarn|bun)$/.test(base) || typeof first !== 'string') return;
  if (
    lookUpSubcommand({ abbreviates: '', subs: { 'run|run-script|rum|urn': {} } }, first) !==
    undefined
  ) {
    if (typeof second === 'string') noteContentReference(walk, 'package-script', second);
  } else if (scripted.test(first)) {
    noteContentReference(walk, 'package-script', first.startsWith('t') ? 'test' : first);
  }
}
