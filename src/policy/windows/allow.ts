/**
 * The single commands of PowerShell and cmd that may run without approval: programs by the rules of
 * all shells, and a few commands of the shells themselves, each with its own grammar.
 */
import type { AllowedCommand } from '../analysis.ts';
import { isRelativePathInside, isShowableFile } from '../shell/accept-command-line.ts';
import { allowPlainCommand } from '../shell/allow.ts';
import { isConfusableWord } from '../syntax/characters.ts';
import type { WindowsDialect } from './analysis-context.ts';
import type { WindowsCommand, WindowsWord } from './words.ts';

/** Names that mean something else in these shells than in the common rules. */
const own = new Set(['ls', 'dir', 'pwd', 'cat', 'type', 'get-content']);

/** How the one plain command of a script may run without approval, or `null`. */
export function allowWindowsCommand(
  command: WindowsCommand,
  dialect: WindowsDialect,
): AllowedCommand | null {
  if (command.kind !== 'command' || command.input.length > 0) return null;
  const words = command.words.map(({ value, quoted }) => ({ value: value ?? '', quoted }));
  // Quotes inside a word reach a program differently than the shell has read them.
  const unclear = words.some(({ value }) => /["\p{Cc}]/u.test(value) || value === '');
  if (unclear || words.some(({ value }) => isConfusableWord(value))) return null;
  if (command.words.some(isDynamic)) return null;
  const [first, ...rest] = words;
  const name = first?.value.toLowerCase() ?? '';
  if (first?.quoted === true) return null;
  const argv = [name, ...rest.map(({ value }) => value)];
  if (!own.has(name)) return program(argv);
  return dialect === 'cmd' ? ofCmd(argv, rest) : ofPowerShell(argv, rest);
}

const isDynamic = ({ value, variables, group }: WindowsWord): boolean =>
  value === null || variables.length > 0 || group.length > 0;

/** A program: also with `\` read as `/`, as it names the same files. */
function program(argv: readonly string[]): AllowedCommand | null {
  const slashed = argv.map((word) => word.replaceAll('\\', '/'));
  return allowPlainCommand(slashed) === null ? null : allowPlainCommand(argv);
}

type Plain = { readonly value: string; readonly quoted: boolean };

function ofCmd(argv: readonly string[], words: readonly Plain[]): AllowedCommand | null {
  const [name = ''] = argv;
  const options = words.filter(({ value, quoted }) => !quoted && value.startsWith('/'));
  const operands = words.filter((word) => !options.includes(word)).map(({ value }) => value);
  if (!operands.every(isPath)) return null;
  switch (name) {
    case 'dir': {
      const known = options.every(({ value }) =>
        /^(?:\/-?[bcdlnqrswx4]|\/a(?::?[-dhsrali]*)|\/o(?::?[-nsegd]*)|\/t:?[cawCAW])+$/i.test(
          value,
        ),
      );
      return known ? listing(argv, 'cmd') : null;
    }
    case 'type':
      return options.length === 0 && operands.length === 1 ? reading(argv, operands, 'cmd') : null;
    default:
      return null;
  }
}

function ofPowerShell(argv: readonly string[], words: readonly Plain[]): AllowedCommand | null {
  const [name = ''] = argv;
  if (name === 'pwd') return words.length === 0 ? listing(argv, 'powershell') : null;
  const reads = name !== 'ls' && name !== 'dir';
  const flags = reads ? 'raw' : 'force recurse name file directory hidden readonly system';
  const valued = reads ? 'totalcount head first tail last' : 'depth';
  const operands = operandsOf(words, flags.split(' '), valued.split(' '));
  if (operands === null || !operands.every(isPath)) return null;
  if (!reads) return operands.length <= 1 ? listing(argv, 'powershell') : null;
  return operands.length === 1 ? reading(argv, operands, 'powershell') : null;
}

/** Operands after flags and parameters with a number, each named in full; else `null`. */
function operandsOf(
  words: readonly Plain[],
  flags: readonly string[],
  valued: readonly string[],
): readonly string[] | null {
  const operands: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const { value, quoted } = words[at] ?? { value: '', quoted: true };
    if (quoted || !/^[-–—―]/.test(value)) {
      operands.push(value);
      continue;
    }
    const name = value.slice(1).toLowerCase();
    const next = words[at + 1]?.value ?? '';
    if (flags.includes(name)) continue;
    if (name === 'path' || name === 'literalpath') operands.push(next);
    else if (name === 'encoding' && /^(?:utf-?8(?:no)?bom|utf-?8|ascii|unicode)$/i.test(next)) {
      at += 1;
      continue;
    } else if (!valued.includes(name) || !/^\d{1,6}$/.test(next)) return null;
    at += 1;
  }
  return operands;
}

/** A relative path without patterns, drives, providers or devices. */
function isPath(path: string): boolean {
  const plain = path.replaceAll('\\', '/');
  if (path === '' || /[*?[\]:<>|"]/.test(path) || /^(?:[/~-]|\.\.(?:\/|$))/.test(plain)) {
    return false;
  }
  const parts = plain.split('/');
  const device = /^(?:con|prn|aux|nul|com\d|lpt\d|conin\$|conout\$)(?:\.|$)/i;
  return (
    isRelativePathInside(plain) && !parts.includes('..') && !parts.some((part) => device.test(part))
  );
}

/** `ls` and `dir` show names and sizes only. */
const listing = (argv: readonly string[], dialect: WindowsDialect): AllowedCommand =>
  made(argv, [], dialect);

function reading(
  argv: readonly string[],
  files: readonly string[],
  dialect: WindowsDialect,
): AllowedCommand | null {
  const paths = files.map((file) => file.replaceAll('\\', '/'));
  return paths.some((path) => !isShowableFile(path)) ? null : made(argv, paths, dialect);
}

function made(
  argv: readonly string[],
  files: readonly string[],
  dialect: WindowsDialect,
): AllowedCommand {
  const run = { argv, unset: [], set: {} };
  const rule = `${dialect}.${argv[0] ?? ''}`;
  return { rule, argv, run, files, packageScript: null, runsRepositoryCode: false };
}
