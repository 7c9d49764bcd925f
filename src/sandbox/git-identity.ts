/**
 * Who commits: name and address of the person's own git configuration, and nothing else of it.
 * Read as text: running git on the host would obey whatever that configuration says.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';

export interface GitIdentity {
  readonly name: string;
  readonly email: string;
}

/** The identity of the first file that has one, or `null`. */
export function findGitIdentity(home: string, configHome: string): GitIdentity | null {
  for (const file of [path.join(home, '.gitconfig'), path.join(configHome, 'git/config')]) {
    const found = readIdentity(textOf(file));
    if (found !== null) return found;
  }
  return null;
}

/** The system-wide git configuration inside: the lowest level, so a repository's own wins. */
export function gitConfig(identity: GitIdentity | null): string {
  if (identity === null) return '';
  const { name, email } = identity;
  return `[user]\n\tname = ${quoted(name)}\n\temail = ${quoted(email)}\n`;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function readIdentity(text: string): GitIdentity | null {
  const found: Partial<Record<string, string>> = {};
  let section = '';
  for (const line of text.split('\n')) {
    const header = /^\s*\[\s*([A-Za-z0-9.-]+)\s*\]/.exec(line)?.[1];
    if (header !== undefined) section = header.toLowerCase();
    else if (section === 'user') {
      const [, key, value] = /^\s*([A-Za-z]+)\s*=\s*"?([^"#;\\\0]*?)"?\s*$/.exec(line) ?? [];
      if (key !== undefined && value !== undefined) found[key.toLowerCase()] = value;
    }
  }
  const { name, email } = found;
  return name && email ? { name, email } : null;
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\\n]/g, '')}"`;
