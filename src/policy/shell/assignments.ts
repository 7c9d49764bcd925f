/** Which variables change what programs run, and where a text may set one or run what one says. */
import { isInjectionName } from '../../variable-names.ts';
import type { ShellWord } from '../syntax/script.ts';

/** Variables that name the programs, files and settings that shells and programs use. */
const places = new Set(
  (
    'PATH HOME PWD OLDPWD CDPATH XDG_CONFIG_HOME XDG_CONFIG_DIRS CURL_HOME BASH_ALIASES ' +
    'BASH_CMDS DIRSTACK'
  ).split(' '),
);

export const isProgramChangingVariable = (name: string): boolean =>
  places.has(name) || isInjectionName(name);

const namers =
  /^(?:declare|typeset|export|local|readonly|read|mapfile|readarray|getopts|let|unset)$/;
const assignment = /^[A-Za-z_]\w*\+?=/;

/**
 * Whether a command of the shell sets a variable, or evaluates an index, that is not known from
 * the text: `export "$line"`, `[[ $x -eq 1 ]]`, `unset 'q[$(sh y.sh)]'`.
 */
export function setsUnknownVariable(
  name: string,
  words: readonly ShellWord[],
  isDynamic: (word: ShellWord) => boolean,
): boolean {
  const texts = words.map(({ value }) => value ?? '');
  const index = (text: string): string => (text.includes('[') ? text.slice(text.indexOf('[')) : '');
  if (texts.some((text) => /\$\(|`/.test(index(text)))) return true;
  const isUnknown = words.some((word) => isDynamic(word) && !assignment.test(word.pieces[0] ?? ''));
  if (!isUnknown) return false;
  if (namers.test(name)) return true;
  if (name === 'printf') return words[0]?.pieces[0]?.startsWith('-v') === true;
  const evaluates = name === '[[' ? /^-(?:eq|ne|lt|le|gt|ge|v)$/ : /^-v$/;
  return /^(?:\[\[?|test)$/.test(name) && texts.some((text) => evaluates.test(text));
}

const settable = /(?<![$\w]|\$\{[!#]?)[A-Za-z_]\w*|(?<=\$\{)[A-Za-z_]\w*(?=:?=)/g;
/** `((x))`, `${a[x]}`, `${s:x}`: what a variable says there may run a command. */
const arithmetic = /\(\([^()]*[A-Za-z_]|\$\{!?\w+(?:\[[^\]]*[A-Za-z_$]|:\s*[A-Za-z_$(])/;

/** Why a text may run what its words do not say, one clause each. */
export function variableExecutionReasons(text: string): readonly string[] {
  const names = new Set(text.match(settable) ?? []);
  const set = [...names].filter((name) => isProgramChangingVariable(name));
  const why = set.map((name) => `it may set ${name}`);
  return arithmetic.test(text) ? [...why, 'its arithmetic may run what a variable says'] : why;
}
