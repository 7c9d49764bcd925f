/** Questions to people, for tests that have no command. */
import type { Approval } from '../../src/approval/approval.ts';
import { ApprovalRegistry } from '../../src/approval/registry.ts';
import type {
  ApprovalDecision,
  ApprovalRegistryOptions,
  ApprovalStore,
} from '../../src/approval/registry.ts';
import type { ApprovalSubject } from '../../src/approval/subject.ts';
import type { Verdict } from '../../src/command.ts';

/** A question that differs from others by what is given. */
export function asked(parts: Partial<ApprovalSubject> = {}): ApprovalSubject {
  return {
    v: 1,
    command: 'make install',
    argv: null,
    shell: { path: '/bin/bash', dialect: 'bash' },
    mode: 'foreground',
    cwd: '/w',
    cwdPlace: { dev: 1, ino: 2 },
    workspace: { path: '/w', dev: 1, ino: 2 },
    env: [],
    stdin: { kind: 'closed', mac: null },
    pty: null,
    sandbox: { kind: 'bubblewrap', level: 'full', box: 'box' },
    network: 'off',
    files: { read: { allow: [], deny: ['**/.env'] }, write: { allow: [], deny: [] } },
    bounds: {
      timeoutMs: 60_000,
      idleTimeoutMs: null,
      graceMs: 5_000,
      cpuSeconds: null,
      processesMax: 512,
      openFilesMax: 4_096,
      fileBytesMax: null,
      memoryBytesMax: null,
      memoryRequired: false,
      addressSpaceBytesMax: null,
      journalBytesMax: 1,
    },
    policy: { name: 'auto', version: '1' },
    session: 's-1',
    requester: 'uid:1',
    contents: [],
    ...parts,
  };
}

export const ask: Verdict = {
  decision: 'ask',
  rules: [
    {
      id: 'shell.unknown',
      decision: 'ask',
      reason: 'is not on the list',
      span: [0, 4],
      via: [],
      evidence: 'make install',
      instead: null,
    },
  ],
  policy: { name: 'auto', version: '1' },
  runs: null,
  notes: [],
};

/** A store in memory that outlives the approvals in front of it, as a disk does. */
export class Disk implements ApprovalStore {
  readonly rows = new Map<string, string>();
  /** What the next `put` throws: a disk that is full, a process that is killed. */
  failure: Error | null = null;

  put(id: string, json: string): void {
    if (this.failure !== null) throw this.failure;
    this.rows.set(id, json);
  }
  remove(id: string): void {
    this.rows.delete(id);
  }
  all(): { id: string; json: string }[] {
    return [...this.rows].map(([id, json]) => ({ id, json }));
  }
}

export const person = { actor: 'approver:ada', proof: 'passphrase' } as const;

export interface Desk {
  readonly disk: Disk;
  readonly approvals: ApprovalRegistry;
  /** Unix ms; tests move it. */
  time: number;
  /** The daemon was killed and started again. */
  restart(): Desk;
}

interface DeskOptions extends Pick<ApprovalRegistryOptions, 'shareHolderOf'> {
  readonly disk?: Disk;
  readonly time?: number;
  readonly allowSameUid?: boolean;
}

export function desk({
  disk = new Disk(),
  time = 1_000_000,
  allowSameUid = false,
  ...of
}: DeskOptions = {}): Desk {
  const made: Desk = {
    disk,
    time,
    approvals: new ApprovalRegistry({
      store: disk,
      clock: () => made.time,
      permits: () => ({ sameUid: allowSameUid, sessionScope: true, expiresMs: 900_000 }),
      allowSamePerson: false,
      keepRule: () => {},
      ...of,
    }),
    restart: () => desk({ disk, time: made.time, allowSameUid, ...of }),
  };
  made.approvals.load();
  return made;
}

export const yes = (
  approval: Approval,
  more: Partial<ApprovalDecision> = {},
): ApprovalDecision => ({
  decision: 'approve',
  digest: approval.digest,
  by: person,
  ...more,
});
export const no = (approval: Approval, words?: string): ApprovalDecision => ({
  ...yes(approval),
  decision: 'deny',
  ...(words === undefined ? {} : { words }),
});
