/** Which edits of a repository's own configuration are a day's work with git. Pure. */
import { isPlainConfig, parseGitConfig, type Setting } from '../git-config.ts';

/** What `git branch`, `git remote add` and `git submodule init` add, each under its own name. */
const named: ReadonlySet<string> = new Set(['branch', 'remote', 'submodule']);

/**
 * Whether an edit only adds branches, remotes or submodules under new names, or removes branches,
 * and everything else is the same in the same order. What an added remote names must run nothing.
 */
export function isPlainEdit(before: string, after: string, directory: string): boolean {
  const was = parseGitConfig(decode(before));
  const is = parseGitConfig(decode(after));
  if (was === null || is === null) return false;
  const old = new Set(was.map(sectionOf));
  const added = is.filter((setting) => !old.has(sectionOf(setting)));
  const isAllowed = added.every((setting) => named.has(kindOf(setting)) && hasName(setting));
  if (!isAllowed || !isPlainConfig(added.map(written).join('\n'), directory)) return false;
  const present = new Set(is.map(sectionOf));
  const stays = (setting: Setting): boolean =>
    kindOf(setting) !== 'branch' || present.has(sectionOf(setting));
  const kept = is.filter((setting) => old.has(sectionOf(setting)));
  return JSON.stringify(was.filter(stays)) === JSON.stringify(kept);
}

function kindOf({ name }: Setting): string {
  return name.split('.')[0] ?? '';
}

function hasName({ subsection }: Setting): boolean {
  return subsection !== null && subsection !== '';
}

function sectionOf(setting: Setting): string {
  return JSON.stringify([kindOf(setting), setting.subsection]);
}

function written({ name, subsection, value }: Setting): string {
  const [section = '', key = ''] = name.split('.');
  const quoted = (text: string): string =>
    text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `[${section} "${quoted(subsection ?? '')}"]\n${key} = "${quoted(value)}"`;
}

function decode(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
