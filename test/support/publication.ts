/** A runtime whose policy keeps some of a workspace from the public, and what it must not tell. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { raw, startRuntime, type Daemon, type Json } from './daemon.ts';

/** What must not be told, in lines that stand nowhere else. */
export const plan = [
  '# The nightingale plan',
  'We will buy the Kestrel company for forty two million in the spring of next year.',
  'Nobody outside of the board may know about this before the contract is signed by both.',
  'The second step is to close the plant in Lower Saxony and to move the machines to Graz.',
  '',
].join('\n');
/** Three lines of it. */
export const passage = plan.split('\n').slice(1, 4).join('\n');

export const policy = `base: trusted
publication:
  audiences:
    public:
      deny: ['private/**']
      names: ['Project Nightingale']
  canaries: ['TRL-CANARY-5f2c77aa']
`;

/** Writes files, with what holds them. */
export function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Puts a policy where the user's is. */
export function writePolicy(home: string, text = policy): void {
  write(path.join(home, 'config/trl'), { 'policy.yaml': text });
}

export async function startPublishing(text = policy): Promise<Daemon> {
  const daemon = await startRuntime({
    env: { TRL_POLICY: '' },
    prepare: (home) => {
      writePolicy(home, text);
      return {};
    },
  });
  write(daemon.root, { 'private/plan.md': plan, 'readme.txt': 'nothing to see here\n' });
  return daemon;
}

/** The whole answer. */
export async function ask(daemon: Daemon, method: string, params: object): Promise<Json> {
  using client = await raw(daemon.socketPath);
  return await client.ask(method, params);
}

/** The verdict. @throws Error when the check is refused */
export async function check(daemon: Daemon, params: object): Promise<Json> {
  const answer = await ask(daemon, 'publish.check', params);
  if (answer.ok !== true) throw new Error(`not checked: ${JSON.stringify(answer)}`);
  return answer.data;
}

export const checkText = (daemon: Daemon, text: string | Buffer): Promise<Json> =>
  check(daemon, { kind: 'text', data: Buffer.from(text).toString('base64') });

/** Rules that were found, each once. */
export const rules = ({ findings }: Json): string[] => [
  ...new Set<string>(findings.map(({ rule }: Json) => String(rule))),
];

/** What the audit log of this home holds, as text. */
export function auditText(home: string): string {
  const logs = path.join(home, 'state/trl/audit/logs');
  return readdirSync(logs, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(path.join(logs, name), 'utf8'))
    .join('');
}
