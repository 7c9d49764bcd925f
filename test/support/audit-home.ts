/** Audit logs for tests of what reads them: written as the runtime writes them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import type { AuditEvent } from '../../src/audit/event.ts';
import { openAuditKey } from '../../src/audit/audit-key.ts';
import { openAuditLog } from '../../src/audit/open-log.ts';
import { ed25519Signer, inTotoPayload, signEnvelope } from '../../src/provenance/dsse.ts';
import {
  statementPayload,
  buildStatement,
  type CommandRecord,
} from '../../src/provenance/statement.ts';

const trl = path.join(path.dirname(path.dirname(import.meta.dirname)), 'trl');

/** A home of one user, with everything that `trl audit` reads. */
export interface AuditHome extends Disposable {
  readonly home: string;
  /** `$XDG_STATE_HOME/trl/audit` */
  readonly directory: string;
  readonly seenHeads: string;
  /** Appends events, each its own group; answers the newest head. */
  write(events: readonly AuditEvent[]): Promise<string>;
  /** Runs `trl audit …`. */
  run(...args: readonly string[]): { status: number | null; stdout: string; stderr: string };
}

export function auditHome(): AuditHome {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  const [state, config] = [path.join(home, 'state'), path.join(home, 'config')];
  const directory = path.join(state, 'trl', 'audit');
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: state, XDG_CONFIG_HOME: config };
  return {
    home,
    directory,
    seenHeads: path.join(config, 'trl', 'audit-heads.json'),
    write: async (events) => {
      const log = await openAuditLog({ directory });
      for (const event of events) await log.append([event]);
      const head = log.head() ?? '';
      await log.close();
      return head;
    },
    run: (...args) => {
      const options = { env, cwd: home, encoding: 'utf8', input: '' } as const;
      const { status, stdout, stderr } = spawnSync(trl, ['audit', ...args], options);
      return { status, stdout, stderr };
    },
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** What the log of a command holds. */
export function commandEvents(directory: string, record: CommandRecord): AuditEvent[] {
  const { id: exec, basis, exit, recorded } = record;
  const of = { at: exit.started_at, actor: basis.requester, session: basis.session, exec } as const;
  const { privateKey } = openAuditKey(directory);
  const statement = statementPayload(buildStatement(record));
  const { signatures, ...envelope } = signEnvelope(inTotoPayload, statement, [
    ed25519Signer(privateKey),
  ]);
  const { verdict } = basis;
  const changes = (recorded?.changes ?? []).map(({ path: name, kind, before, after }) => ({
    path: name,
    kind,
    before: before?.type === 'file' ? { sha256: before.sha256 } : null,
    after: after?.type === 'file' ? { sha256: after.sha256 } : null,
  }));
  return [
    { kind: 'exec.requested', ...of, data: { command: basis.command } },
    { kind: 'exec.decided', ...of, data: { decision: verdict.decision, rules: verdict.rules } },
    { kind: 'exec.ended', ...of, data: { exit_code: exit.exit_code, raw_log: null } },
    {
      kind: 'exec.changed',
      ...of,
      data: {
        before: recorded?.snapshot.before ?? null,
        after: recorded?.snapshot.after ?? null,
        changes,
      },
    },
    {
      kind: 'exec.statement',
      ...of,
      data: { envelope: { ...envelope, signatures: signatures.map((one) => ({ ...one })) } },
    },
  ];
}
