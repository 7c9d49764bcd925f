/** What a command names whose content decides what it does: it is hashed into an approval. */
import { parseOptions } from '../commands/grammar.ts';
import type { Node } from '../commands/schema.ts';
import { baseName, lookUpSub } from '../commands/table.ts';
import type { Command } from '../syntax/script.ts';
import { name, type Walk } from './walk.ts';
import { isStandardInput, tail } from './word.ts';

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
export function nameContent(
  called: string,
  command: Command,
  node: Node | undefined,
  walk: Walk,
): void {
  if (!builtins.has(called) && !walk.script.defined.includes(called)) {
    name(walk, 'executable', called);
  }
  if (node === undefined) return;
  const args = tail(command, 1);
  const { options, operands } = parseOptions(args.words, node);
  const texts = operands.map((at) => args.words[at]?.value ?? null);
  const [first, second] = texts;
  if (node.script === true && !options.has('command') && !options.has('code')) {
    const stream = isStandardInput(first ?? '-') || first?.startsWith('/dev/') === true;
    if (typeof first === 'string' && !stream) name(walk, 'script', first);
  }
  const base = baseName(called).toLowerCase();
  if (base === 'make') name(walk, 'script', 'Makefile');
  if (!/^(?:npm|pnpm|yarn|bun)$/.test(base) || typeof first !== 'string') return;
  if (lookUpSub({ abbreviates: '', subs: { 'run|run-script|rum|urn': {} } }, first) !== undefined) {
    if (typeof second === 'string') name(walk, 'package-script', second);
  } else if (scripted.test(first)) {
    name(walk, 'package-script', first.startsWith('t') ? 'test' : first);
  }
}
