/** The commands that may run without approval, by positive grammars. */
import type { AllowedCommand } from '../analysis.ts';
import type { AllowRule, OperandKind } from '../commands/allow-rule.ts';
import { allowRules } from '../commands/data/allowed.ts';
import { isConfusableWord } from '../syntax/characters.ts';
import {
  acceptCommandLine,
  isRelativePathInside,
  isShowableFile,
  type AcceptedCommandLine,
} from './accept-command-line.ts';
import { hardenCommand } from './harden.ts';
import { globMayMatchSecret } from './secret.ts';

const byName = new Map<string, AllowRule[]>();
for (const rule of allowRules) {
  const name = rule.words[0] ?? '';
  byName.set(name, [...(byName.get(name) ?? []), rule]);
}

const wordsMax = 1_024;

/**
 * How the argv of one plain command may run without approval, or `null`. Decides on the words
 * alone: the caller must check that `files` are inside the workspace and hold no secret.
 */
export function allowPlainCommand(argv: readonly string[]): AllowedCommand | null {
  if (argv.length > wordsMax) return null;
  // A person who reads the line, or its record, must see the names that are opened.
  if (argv.some((word) => /\p{Cc}/u.test(word) || isConfusableWord(word))) return null;
  for (const rule of byName.get(argv[0] ?? '') ?? []) {
    const found = allowBy(rule, argv);
    if (found !== null) return found;
  }
  return null;
}

function allowBy(rule: AllowRule, argv: readonly string[]): AllowedCommand | null {
  // `npx --no-install tsc` says itself what the recipe adds.
  const given = rule.harden === 'npx' && /^--no(?:-install)?$/.test(argv[1] ?? '');
  const words = given ? [argv[0] ?? '', ...argv.slice(2)] : argv;
  if (!rule.words.every((word, at) => words[at] === word)) return null;
  const rest = words.slice(rule.words.length);
  const spellings = [rule.options, rule.selecting, rule.required].filter(
    (one) => one !== undefined,
  );
  const accepted = acceptCommandLine(rest, spellings.join(' '), rule.clusters === true);
  if (accepted === null) return null;
  if (rule.required !== undefined && !accepted.given.has(rule.required)) return null;
  if (!acceptsOperands(rule, accepted)) return null;
  return {
    rule: rule.id,
    argv: [...argv],
    run: hardenCommand(rule, rest, accepted),
    files: rule.operands === 'file' || rule.operands === 'search' ? paths(rule, accepted) : [],
    packageScript: rule.packageScript ?? null,
    runsRepositoryCode: rule.packageScript !== undefined || rule.harden === 'npx',
  };
}

function acceptsOperands(rule: AllowRule, accepted: AcceptedCommandLine): boolean {
  const { operands, end } = accepted;
  const kind: OperandKind = rule.operands;
  if (typeof kind !== 'string') {
    return end === -1 && operands.join(' ') === kind.exactly.join(' ');
  }
  switch (kind) {
    case 'none':
      return operands.length === 0 && end === -1;
    case 'file':
      return operands.length === 1 && operands.every(isOwnFile);
    case 'listed':
      return operands.every(isListed);
    case 'revisions':
      return operands.every(isRevisionOrPath);
    case 'listing':
      return operands.length === 0 || (end === -1 && selects(rule, accepted));
    case 'search':
      return paths(rule, accepted).every(
        (path) => isRelativePathInside(path) && isShowableFile(path),
      );
    case 'packages':
      return (
        end === -1 &&
        operands.every((one) => /^(?:@[\w.-]+\/)?[\w-][\w.-]*(?:@[\w.^~*-]+)?$/.test(one))
      );
  }
}

/** What `rg` searches: all operands but the pattern, which an option may give instead. */
function paths(rule: AllowRule, { given, operands }: AcceptedCommandLine): readonly string[] {
  const free = ['-e', '--regexp', '--files', '--type-list'].some((option) => given.has(option));
  return rule.operands === 'search' && !free ? operands.slice(1) : operands;
}

function isOwnFile(path: string): boolean {
  return path !== '-' && isRelativePathInside(path) && isShowableFile(path);
}

/** `ls` shows names and sizes; of directories with keys not even those. */
function isListed(path: string): boolean {
  return path !== '' && !/(?:^|\/)\.(?:ssh|aws|gnupg|kube|docker)(?:\/|$)|^\/proc\//i.test(path);
}

function isRevisionOrPath(word: string): boolean {
  if (word === '' || /^[/~\\]/.test(word) || word.split('/').includes('..')) return false;
  const paths = pathsOf(word);
  // `:/text` finds a commit by its message, and is a path from the top.
  if (!word.startsWith(':') && paths.some((path) => path.startsWith('/'))) return false;
  return paths.every((path) => isShowableFile(path) && !globMayMatchSecret(path));
}

/** The word, `HEAD:path`, and pathspecs such as `:(glob)path`, `:!path` and `:/path`. */
function pathsOf(word: string): readonly string[] {
  const magic = word.startsWith(':') ? /^(?:\([^)]*\)|[!^/]+:?)/ : /^$/;
  const after = (from: number): string => word.slice(from + 1).replace(magic, '');
  return [word, after(word.indexOf(':')), after(word.lastIndexOf(':'))];
}

function selects(rule: AllowRule, { given, operands }: AcceptedCommandLine): boolean {
  const selecting = (rule.selecting ?? '').split(' ').map((one) => one.replace(/\[.*/, ''));
  return selecting.some((option) => given.has(option)) && operands.every((one) => one !== '');
}
