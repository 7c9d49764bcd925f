/** Of an edit of git's configuration that is held, the text with what is free of it. Pure. */
import {
  parseGitConfig,
  parseGitConfigParts,
  type GitConfigPart,
  type GitConfigSetting,
} from '../git-config.ts';
import { GitConfigEdit, isHarmlessConfigEdit } from './harmless-edit.ts';

/**
 * The configuration of before with the plain part of an edit in it: what is not free is left out,
 * or has its value of before. `null`: nothing of it is plain, or it cannot be told apart.
 *
 * @param before bytes, as is the answer
 */
export function harmlessPartOf(before: string, after: string, directory: string): string | null {
  const [old, text] = [textOf(before), textOf(after)];
  const was = old === null ? null : parseGitConfig(old);
  const parts = text === null ? null : parseGitConfigParts(text);
  if (was === null || text === null || parts === null) return null;
  const is = parts.flatMap(({ setting }) => setting ?? []);
  const edit = new GitConfigEdit(was, is, directory);
  const lost = was.filter((one) => !is.some((other) => isEqual(one, other)));
  let merged = '';
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const { setting } = part;
    const isKept = setting === null ? !isEmptied(index) : edit.isAllowed(setting);
    if (isKept) continue;
    const from = setting && lost.findIndex((one) => isSameKey(one, setting));
    const value = from === null ? undefined : lost.splice(from, from < 0 ? 0 : 1)[0];
    const { start, end } = value === undefined ? wholeLine(text, part) : part;
    merged += text.slice(at, start) + (value === undefined ? '' : lineOf(value));
    at = end;
  }
  merged += text.slice(at);
  const answer = Buffer.from(merged).toString('latin1');
  const isOther = JSON.stringify(parseGitConfig(merged)) !== JSON.stringify(was);
  return isOther && isHarmlessConfigEdit(before, answer, directory) ? answer : null;

  /** A new section of which nothing is left. */
  function isEmptied(index: number): boolean {
    const { section, subsection } = parts?.[index] ?? { section: '', subsection: null };
    const isOf = (one: GitConfigSetting): boolean =>
      one.name.startsWith(`${section}.`) && one.subsection === subsection;
    const own = is.filter(isOf);
    return own.length > 0 && !was?.some(isOf) && !own.some((one) => edit.isAllowed(one));
  }
}

/** `null` for what is no UTF-8 with plain ends of lines. */
function textOf(bytes: string): string | null {
  const text = Buffer.from(bytes, 'latin1').toString();
  const isExact = Buffer.from(text).toString('latin1') === bytes;
  return isExact && !text.includes('\r') && !text.startsWith('\uFEFF') ? text : null;
}

function isEqual(one: GitConfigSetting, other: GitConfigSetting): boolean {
  return isSameKey(one, other) && one.value === other.value;
}

function isSameKey(one: GitConfigSetting, other: GitConfigSetting): boolean {
  return one.name === other.name && one.subsection === other.subsection;
}

/** With what stands before and behind it on its line, if that is nothing else. */
function wholeLine(text: string, { start, end }: GitConfigPart): { start: number; end: number } {
  const before = text.lastIndexOf('\n', start - 1) + 1;
  const isAlone = text.slice(before, start).trim() === '' && text[end] === '\n';
  return isAlone ? { start: before, end: end + 1 } : { start, end };
}

function lineOf({ name, value }: GitConfigSetting): string {
  const key = name.slice(name.indexOf('.') + 1);
  const quoted = value.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `${key} = "${quoted.replaceAll('\t', String.raw`\t`)}"`;
}
