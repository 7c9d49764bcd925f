/** `trl publish hook`: a pre-push hook of git that asks the gate first. */
import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { printMessage } from './print.ts';

/** By it a hook of ours is known. */
const mark = '# trl publish hook';
const audienceForm = /^[\w.@-]+$/;

export async function runPublishHook(args: CliArguments): Promise<number> {
  const script = scriptFor(args.text('audience'));
  if (!args.has('install')) {
    process.stdout.write(script);
    return 0;
  }
  const file = hookFile();
  const before = lstatSync(file, { throwIfNoEntry: false });
  const isOurs = before?.isFile() === true && readFileSync(file, 'utf8').includes(`\n${mark}\n`);
  if (before !== undefined && !isOurs) {
    const message = `Cannot install the hook: "${file}" is there already`;
    throw new TrlError('INVALID_PARAMS', `${message}; add to it what "trl publish hook" prints`);
  }
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, script, { mode: 0o755 });
  chmodSync(`${file}.new`, 0o755);
  renameSync(`${file}.new`, file);
  printMessage(
    `installed ${file}; "git push --no-verify" goes round it, a check in CI does not let it`,
  );
  return 0;
}

/** What cannot be checked is not pushed. */
function scriptFor(audience: string | undefined): string {
  if (audience !== undefined && !audienceForm.test(audience)) {
    throw usageError(
      'publish hook',
      `an audience has letters, digits and ".@-_", got "${audience}"`,
    );
  }
  const forWhom = audience === undefined ? '' : ` --audience ${audience}`;
  return [
    '#!/bin/sh',
    mark,
    '# Commits, also those that a later one takes back, are checked before they leave.',
    'command -v trl >/dev/null 2>&1 || {',
    '  echo "pre-push: trl is not in PATH, so nothing can be checked" >&2',
    '  exit 1',
    '}',
    `exec trl publish check --git - --remote "$1"${forWhom}`,
    '',
  ].join('\n');
}

/** Where git looks for it: of the repository, of linked worktrees, or `core.hooksPath`. */
function hookFile(): string {
  try {
    const found = execFileSync('git', ['rev-parse', '--git-path', 'hooks/pre-push'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return path.resolve(found.replace(/\n$/, ''));
  } catch (cause) {
    const message = `Cannot install the hook: "${process.cwd()}" lies in no git repository`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
