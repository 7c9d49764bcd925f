/**
 * Which settings make git run or obey a file, and which file of a project that is. Pure. From
 * git-config(1), gitattributes(5), githooks(5), and the configuration of git-lfs and git-annex.
 */
import type { BytePath } from '../change.ts';
import { bytePathOf } from './byte-path.ts';
import type { GitConfigSetting } from './git-config.ts';

/** `file`: obeyed or run itself, or with all that is in it. `command`: run by a shell or by git. */
export type GitSettingUse = 'include' | 'file' | 'command';

/** From githooks(5): what git runs in the directory that `core.hooksPath` names. */
export const gitHookNames: readonly string[] = [
  'applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg',
  'commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive update',
  'proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc',
  'post-rewrite sendemail-validate fsmonitor-watchman post-index-change',
].flatMap((line) => line.split(' '));

const files: ReadonlySet<string> = new Set([
  'core.hookspath',
  'core.attributesfile',
  'init.templatedir',
  'gpg.allowedsignersfile',
]);
/** Of any section, as tools beside git name theirs alike. */
const commands = new RegExp(
  '(?:command|cmd|program|helper|path|textconv|driver|clean|smudge|process|editor|pager|askpass' +
    '|gitproxy|uploadpack|receivepack|vcs|tunnel|fsmonitor|difffilter|external|smtpserver' +
    '|hook|prog)$',
);
/** Every key in it is a name of the user's. */
const commandSections: ReadonlySet<string> = new Set(['alias', 'pager']);

/** `null`: it makes git run and obey nothing. */
export function gitSettingUseOf({ name, value }: GitConfigSetting): GitSettingUse | null {
  const [section = '', key = ''] = name.split('.');
  if (key === 'path' && (section === 'include' || section === 'includeif')) return 'include';
  if (files.has(name)) return 'file';
  const isCommand = commandSections.has(section) || commands.test(key) || value.startsWith('!');
  return isCommand && section !== 'submodule' ? 'command' : null;
}

/** A word of a command that may name a file. */
export interface GitCommandWord {
  /** As written; absolute, or from one of the directories that the command goes to. */
  readonly path: BytePath;
  /** Directories that it may start from, from where the command starts: '.' is that one. */
  readonly from: readonly BytePath[];
  /** Whether it can be nothing but a path. */
  readonly isPath: boolean;
  /** All that is in it is meant. */
  readonly isTree: boolean;
}

const startsMax = 8;

const lists = /[|;&\n]+/;
const quoted = /"([^"]+)"|'([^']+)'/g;
const separators = /[\s"'`;|&<>(){}=,]+/;
const variable = /^\$[a-z_]\w*(?=\/)/i;
const alternatives = /\{[^{}\s]*,[^{}\s]*\}/g;
const pattern = /[*?[]/;
/** Commands whose arguments are run: files that a pattern of theirs finds are, too. */
const runners = /^(?:for|sh|bash|dash|zsh|ksh|exec|source|\.|run-parts|python\d*|node|perl|ruby)$/;
const interpreters = /^(?:python\d*|node|bun|deno)$/;
/** What an interpreter takes where a name has no ending, or is a directory. */
const endings = ['.js', '.cjs', '.mjs', '.ts', '.py', '/index.js', '/__main__.py'] as const;

/**
 * What a command may name. A word without a slash that begins a command is looked for in PATH; an
 * alias that does not begin with `!` is arguments of git, where only a path can name what is run.
 */
export function gitCommandWordsOf({ name, value }: GitConfigSetting): GitCommandWord[] {
  const text = bytePathOf(value.replace(/^!/, '')).replaceAll(alternatives, '*');
  const isOfGit = name.startsWith('alias.') && !value.startsWith('!');
  const parts = text.split(lists).map((part) => part.split(separators).filter((one) => one !== ''));
  const from = startsOf(parts);
  const whole = [...text.matchAll(quoted)].map(([, double, single]) => double ?? single ?? '');
  const words = [
    ...parts.flatMap((part) =>
      part.filter((one, at) => one.includes('/') || (at > 0 && !isOfGit && !one.startsWith('-'))),
    ),
    ...whole.filter((one) => one.includes('/')),
  ];
  const named = [...new Set(words.map((one) => one.replace(variable, '')))]
    .filter((one) => one !== '/' && !pattern.test(one))
    .map((path) => ({ path, from, isPath: path.includes('/'), isTree: false }));
  return [...named, ...ended(parts, named), ...parts.flatMap((part) => foundBy(part, from))];
}

/** Directories that a command goes to, one after the other or each from where it starts. */
function startsOf(parts: readonly (readonly string[])[]): BytePath[] {
  const starts = ['.'];
  for (const [at, word] of parts.flat().entries()) {
    const to = parts.flat()[at + 1];
    if (!/^(?:cd|pushd|-C)$/.test(word) || to === undefined) continue;
    starts.push(...starts.slice(0, startsMax).map((one) => (one === '.' ? to : `${one}/${to}`)));
  }
  return [...new Set(starts)];
}

/** With an ending that an interpreter need not be told; `a.b` is a module of Python. */
function ended(
  parts: readonly (readonly string[])[],
  words: readonly GitCommandWord[],
): GitCommandWord[] {
  if (!parts.flat().some((one) => interpreters.test(one))) return [];
  return words.flatMap(({ path, from }) => {
    const isModule = /^\w+(?:\.\w+)*$/.test(path);
    if (!isModule && path.slice(path.lastIndexOf('/') + 1).includes('.')) return [];
    const base = isModule ? path.replaceAll('.', '/') : path;
    return endings.map((end) => ({ path: base + end, from, isPath: false, isTree: false }));
  });
}

/** Directories in which a pattern finds what is run. */
function foundBy(part: readonly string[], from: readonly BytePath[]): GitCommandWord[] {
  if (!part.some((one) => runners.test(one))) return [];
  return part.flatMap((one) => {
    const at = one.search(pattern);
    const path = one.replace(variable, '').slice(0, one.lastIndexOf('/', at) + 1);
    return at < 0 ? [] : [{ path: path === '' ? '.' : path, from, isPath: true, isTree: true }];
  });
}
