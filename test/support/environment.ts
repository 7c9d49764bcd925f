/** A daemon with variables of all tiers in its environment, and scripts that look at them. */
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { startRuntime, type Daemon } from './daemon.ts';

// Its own in each run, so that only this run's processes can show it.
export const secret = `q7Vd2L${randomBytes(12).toString('hex')}`;
export const hostEnv = {
  MY_PLAIN: 'plain words',
  MY_API_TOKEN: secret,
  MY_HOST: 'db.example.org',
  AWS_PROFILE: 'staging',
  CORP_THING: 'withheld by configuration',
  HERMES_API_KEY: 'h3rm3sKeyOfTheRuntime99',
  OPENROUTER_MODEL: 'm',
  DATABASE_URL: 'postgres://app:hJ82kPq0Lx@db/app',
  TRL_AUTH_TOKEN: 'kT83jdPq0LxMvn2Ws',
  LD_PRELOAD: '',
  PYTHONSTARTUP: './startup.py',
};
export const withheldNames = [
  'CORP_THING',
  'HERMES_API_KEY',
  'OPENROUTER_MODEL',
  'DATABASE_URL',
  'TRL_AUTH_TOKEN',
];
export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Tells of a variable without showing it: policy blocks that, and output is redacted. */
export const sum = (name: string): string => `bash ./sum.sh ${name}`;
const scripts = {
  'sum.sh': 'printf %s "${!1-none}" | sha256sum | cut -c1-64\n',
  'show.sh': 'printf "[%s]\\n" "${!1-none}"\n',
  'poll.sh': [
    'n=0',
    'while [ ! -e stop-polling ]; do n=$((n+1))',
    `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -oE '^(MY_API_TOKEN|CONTROL)='`,
    'sleep 0.01; done; echo "rounds $n"\n',
  ].join('\n'),
  'look.sh': [
    'set > shell-state',
    'test -z "${MY_API_TOKEN+x}" && echo unset',
    `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -cE '^MY_API_TOKEN='`,
    `cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -cE '^HOME='\n`,
  ].join('\n'),
} as const;

const env = { ...hostEnv, TRL_WITHHOLD: 'CORP_*' };
/** A daemon whose workspace has the scripts. */
export async function begin(more: Record<string, string>, home?: string): Promise<Daemon> {
  const made = { ...env, ...more };
  const found = await startRuntime(home === undefined ? { env: made } : { env: made, home });
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(path.join(found.root, name), text);
  }
  return found;
}
