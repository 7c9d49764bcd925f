/**
 * Whether the text of a command shows that it needs the network, and which hosts, so that a person
 * is asked in time.
 * It makes no decision: a command that it misses runs without network, and a false match costs one
 * approval request.
 */

import { hostPresets, type HostPresetName } from './presets.ts';
import { parseHostRule } from './host-rules.ts';

/** Words before a program, and their arguments. */
const wrappers =
  /^(?:sudo|env|exec|command|nice|nohup|time|timeout|if|then|else|do|while|!|\d+[smh]?)$/;
const assignment = /^[A-Za-z_]\w*=/;
const remote = /^(?:https?|ssh|git|ftp):\/\/|^[\w.-]+@[\w.-]+:/;
const loopback = /^\w+:\/\/(?:[^/@]*@)?(?:localhost|127\.|\[::1\]|0\.0\.0\.0)/;
/** As it appears in quoted text. */
const quoted = 'QUOTED';

const isFar = (word: string): boolean => remote.test(word) && !loopback.test(word);
const oneOf = (text: string) => {
  const names = new Set(text.split(' '));
  return (args: readonly string[]): boolean => names.has(args[0] ?? '');
};
const without = (flags: string, found: (args: readonly string[]) => boolean) => {
  const names = flags.split(' ');
  return (args: readonly string[]): boolean =>
    found(args) && !args.some((word) => names.includes(word));
};
const pip = without('--no-index -h --help', oneOf('install download wheel'));

const programs: ReadonlyMap<string, (args: readonly string[]) => boolean> = new Map([
  ['npm', without('--offline', oneOf('install i ci add update up outdated view info audit init'))],
  ['pnpm', without('--offline', oneOf('install i add update up dlx'))],
  ['yarn', without('--offline', (args) => args.length === 0 || oneOf('install add up dlx')(args))],
  ['bun', oneOf('install add update')],
  ['pip', pip],
  ['pip3', pip],
  ['uv', without('--offline', oneOf('sync add lock pip'))],
  ['poetry', oneOf('install add update lock')],
  ['cargo', without('--offline', oneOf('fetch install add update search'))],
  [
    'go',
    (args) =>
      oneOf('get install')(args) || (args[0] === 'mod' && oneOf('download tidy')(args.slice(1))),
  ],
  [
    'git',
    (args) =>
      oneOf('fetch pull')(args) ||
      (oneOf('clone ls-remote')(args) && args.some(isFar)) ||
      (args[0] === 'submodule' && args[1] === 'update'),
  ],
  ['curl', (args) => args.some(isFar)],
  ['wget', (args) => args.some(isFar)],
  ['gem', oneOf('install update')],
  ['bundle', oneOf('install update')],
  ['composer', oneOf('install update require')],
]);

/** The program and its first word, if it needs the network; `null`: none is recognised. */
export function detectNetworkNeed(text: string): string | null {
  for (const { program, args } of networkCommandsIn(text)) {
    return [program, ...args.slice(0, 1)].join(' ');
  }
  return null;
}

/** What a program is reached by, where its arguments name no host. */
const registries: Readonly<Record<string, HostPresetName>> = {
  npm: 'npm',
  pnpm: 'npm',
  yarn: 'npm',
  bun: 'npm',
  pip: 'pypi',
  pip3: 'pypi',
  uv: 'pypi',
  poetry: 'pypi',
  cargo: 'crates',
  go: 'go',
  gem: 'rubygems',
  bundle: 'rubygems',
};

/**
 * Host rules, in order, for the hosts that the text of a command implies. A host that it misses is
 * met when the command runs.
 */
export function hostsInText(text: string): readonly string[] {
  const found = new Set<string>();
  for (const { program, args } of networkCommandsIn(text)) {
    const named = args.flatMap((word) => hostOf(word) ?? []);
    const preset = Object.hasOwn(registries, program) ? registries[program] : undefined;
    for (const host of named) found.add(host);
    if (preset !== undefined) for (const host of hostPresets[preset].hosts) found.add(host);
  }
  return [...found].toSorted();
}

/** As a rule; `null`: a word that leads to no host. */
function hostOf(word: string): string | null {
  if (!isFar(word)) return null;
  const [, scheme, authority] = /^(\w+):\/\/(?:[^/@]*@)?([^/?#]+)/.exec(word) ?? [];
  const [, copied] = /^[\w.-]+@([\w.-]+):/.exec(word) ?? [];
  const isShell = scheme === 'ssh' || (scheme === undefined && copied !== undefined);
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(authority ?? copied ?? '') ?? [];
  const isWeb = scheme === 'http' || scheme === 'https';
  const own = port ?? (isShell ? '22' : scheme === 'git' ? '9418' : undefined);
  const isUsual = isWeb && (own === undefined || own === '80' || own === '443');
  return parseHostRule(isUsual ? host : `${host}:${own}`)?.text ?? null;
}

interface NetworkCommand {
  readonly program: string;
  readonly args: readonly string[];
}

/** Commands of a text that need the network. */
function* networkCommandsIn(text: string): Generator<NetworkCommand> {
  for (const words of commandsIn(text)) {
    const at = words.findIndex((word) => !wrappers.test(word) && !assignment.test(word));
    const [first = '', ...rest] = at === -1 ? [] : words.slice(at);
    const isModule = /^python[\d.]*$/.test(first) && rest[0] === '-m';
    const [name = '', ...given] = isModule ? rest.slice(1) : [first, ...rest];
    const program = name.slice(name.lastIndexOf('/') + 1);
    const args =
      given[0]?.startsWith('-') === true && program !== 'curl' ? withoutFlags(given) : given;
    if (programs.get(program)?.(args) === true) yield { program, args };
  }
}

/** Flags of a program before its subcommand, `git -C DIR fetch`. */
function withoutFlags(args: readonly string[]): readonly string[] {
  const at = args.findIndex((word, index) => !word.startsWith('-') && args[index - 1] !== '-C');
  return at === -1 ? [] : args.slice(at);
}

const far = /(['"])((?:https?|ssh|git|ftp):\/\/[^\s'"]*)\1/g;

/** Characters that are examined: a longer text is a script, and runs without network. */
const textMax = 8_192;

/** Words between separators of commands. Quoted text is one word, including addresses in it. */
function* commandsIn(text: string): Generator<readonly string[]> {
  if (text.length > textMax) return;
  const plain = text
    .replaceAll(/<<-?\s*(['"]?)(\w+)\1[^\n]*\n[^]*?\n\s*\2(?=\n|$)/g, ' ')
    .replaceAll(far, (_, __, address: string) => address.replaceAll(/[;&|()]/g, '_'))
    .replaceAll(/\\\n/g, ' ')
    .replaceAll(/\\.|'[^']*'|"(?:\\.|[^"\\])*"/gs, quoted)
    .replaceAll(/(^|\s)#[^\n]*/g, '$1');
  for (const part of plain.split(/&&|\|\||[;&|(){}\n`]/)) {
    const words = part
      .trim()
      .split(/\s+/)
      .filter((word) => word !== '');
    if (words.length > 0) yield words;
  }
}

const leaving =
  /(?:^|[;&|\n])\s*(?:export|source|\.|set|unset|alias|unalias|umask|declare|readonly)\s/;

/** Whether a command sets variables or functions for the next one in its session. */
export const isStateChanging = (text: string): boolean => leaving.test(text);
