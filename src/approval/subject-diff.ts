/** What differs between a question that was answered and the one that stands now, in sentences. */
import type { FileGrants } from '../command.ts';
import { canonicalJson } from '../canonical.ts';
import { subjectDigest } from './subject.ts';
import type { ApprovalSubject, SubjectContent } from './subject.ts';

/** One difference, for people. No value of a variable and no input is in it. */
export interface SubjectDifference {
  /** The field of {@link ApprovalSubject} that differs. */
  readonly field: keyof ApprovalSubject;
  /** `the script scripts/x.sh changed`; names in it are as they were given, not escaped. */
  readonly text: string;
}

/** Empty exactly when both have the same digest. */
export function diffSubjects(
  before: ApprovalSubject,
  now: ApprovalSubject,
): readonly SubjectDifference[] {
  const found: SubjectDifference[] = [
    ...changesOfText(before, now),
    ...changesOfPlace(before, now),
    ...changesOfVariables(before, now),
    ...changesOfInput(before, now),
    ...changesOfReach(before, now),
    ...changesOfAsking(before, now),
    ...changesOfContents(before, now),
    ...changesOfBinding(before, now),
  ];
  if (found.length > 0 || subjectDigest(before) === subjectDigest(now)) return found;
  // Never nothing where the digests differ: then the question would seem to repeat itself.
  return [{ field: 'v', text: 'something else that the approval binds changed' }];
}

const same = (a: unknown, b: unknown): boolean => canonicalJson(a) === canonicalJson(b);

/** `the network is on instead of off` */
function instead(
  field: keyof ApprovalSubject,
  what: string,
  before: string,
  now: string,
): SubjectDifference[] {
  return before === now ? [] : [{ field, text: `${what} is ${now} instead of ${before}` }];
}

function changesOfText(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const found: SubjectDifference[] = [];
  if (before.command !== now.command) {
    found.push({ field: 'command', text: 'the command is another text' });
  }
  if (!same(before.argv, now.argv)) {
    found.push({ field: 'argv', text: 'what is started in place of a shell is something else' });
  }
  const shell = instead('shell', 'the shell', before.shell.path, now.shell.path);
  if (shell.length === 0 && before.shell.dialect !== now.shell.dialect) {
    found.push(...instead('shell', 'the shell', before.shell.dialect, now.shell.dialect));
  }
  const modes = { foreground: 'in the foreground', detached: 'detached' } as const;
  return [...found, ...shell, ...instead('mode', 'it', modes[before.mode], modes[now.mode])];
}

function changesOfPlace(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const cwd = instead('cwd', 'the working directory', before.cwd, now.cwd);
  if (cwd.length === 0 && !same(before.cwdPlace, now.cwdPlace)) {
    cwd.push({ field: 'cwdPlace', text: 'the working directory was replaced' });
  }
  const [old, next] = [before.workspace, now.workspace];
  if (old?.path !== next?.path) {
    const [was, is] = [old?.path ?? 'none', next?.path ?? 'none'];
    return [...cwd, ...instead('workspace', 'the workspace', was, is)];
  }
  if (same(old, next)) return cwd;
  return [...cwd, { field: 'workspace', text: 'the workspace was replaced' }];
}

function changesOfVariables(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const was = new Map(before.env.map(({ name, mac }) => [name, mac]));
  const is = new Map(now.env.map(({ name, mac }) => [name, mac]));
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((name): SubjectDifference[] => {
    if (was.get(name) === is.get(name)) return [];
    const how = !was.has(name) ? 'is new' : is.has(name) ? 'changed' : 'is gone';
    return [{ field: 'env', text: `the variable ${name} ${how}` }];
  });
}

function changesOfInput(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const found: SubjectDifference[] = [];
  if (!same(before.stdin, now.stdin)) found.push({ field: 'stdin', text: 'the input changed' });
  if (!same(before.pty, now.pty)) found.push({ field: 'pty', text: 'the terminal changed' });
  return found;
}

function changesOfReach(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const found: SubjectDifference[] = [
    ...instead('network', 'the network', before.network, now.network),
    ...instead('sandbox', 'the sandbox', sandboxName(before), sandboxName(now)),
    ...changesOfGrants(before.files, now.files),
  ];
  if (!same(before.brokered ?? [], now.brokered ?? [])) {
    const is = now.brokered?.map(({ name, hosts }) => `${name} at ${hosts.join(', ')}`) ?? [];
    found.push({ field: 'brokered', text: `the secrets that it uses changed: ${is.join('; ')}` });
  }
  if (!same(before.hosts ?? [], now.hosts ?? [])) {
    const is = now.hosts?.join(', ') ?? 'none';
    found.push({ field: 'network', text: `the hosts that it asks for changed: ${is}` });
  }
  if (!same(before.reveal ?? [], now.reveal ?? [])) {
    found.push({ field: 'reveal', text: 'what its output would show of what is hidden changed' });
  }
  if (before.sandbox.box !== now.sandbox.box && sandboxName(before) === sandboxName(now)) {
    found.push({ field: 'sandbox', text: 'what the sandbox shows or holds changed' });
  }
  const bounds = new Set([...Object.keys(before.bounds), ...Object.keys(now.bounds)]);
  const was: ReadonlyMap<string, unknown> = new Map(Object.entries(before.bounds));
  const is: ReadonlyMap<string, unknown> = new Map(Object.entries(now.bounds));
  for (const name of bounds) {
    const [old, next] = [String(was.get(name)), String(is.get(name))];
    found.push(...instead('bounds', `the bound ${name}`, old, next));
  }
  return found;
}

const sandboxName = ({ sandbox }: ApprovalSubject): string =>
  sandbox.kind === 'none' ? 'none' : `${sandbox.kind} (${sandbox.level})`;

function changesOfGrants(before: FileGrants, now: FileGrants): SubjectDifference[] {
  return (['read', 'write'] as const).flatMap((access) =>
    (['allow', 'deny'] as const).flatMap((rule): SubjectDifference[] => {
      const [was, is] = [before[access][rule], now[access][rule]];
      if (same(was, is)) return [];
      const added = is.filter((path) => !was.includes(path));
      const gone = was.filter((path) => !is.includes(path));
      const parts = [
        ...added.map((path) => `${path} is new`),
        ...gone.map((path) => `${path} is gone`),
      ];
      const what = `what it may ${rule === 'allow' ? '' : 'not '}${access} changed`;
      return [{ field: 'files', text: parts.length === 0 ? what : `${what}: ${parts.join(', ')}` }];
    }),
  );
}

function changesOfAsking(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const policy = instead('policy', 'the policy', before.policy.name, now.policy.name);
  if (policy.length === 0 && before.policy.version !== now.policy.version) {
    policy.push({ field: 'policy', text: `the policy ${now.policy.name} changed` });
  }
  return [
    ...policy,
    ...instead('session', 'the session', before.session, now.session),
    ...instead('requester', 'who asks', before.requester, now.requester),
  ];
}

const roleNames = {
  executable: 'executable',
  script: 'script',
  'package-script': 'package script',
  file: 'file',
  directory: 'directory',
} as const;

function changesOfContents(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const key = ({ role, name }: SubjectContent): string => `${role}\0${name}`;
  const was = Map.groupBy(before.contents, key);
  const is = Map.groupBy(now.contents, key);
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((each): SubjectDifference[] => {
    const [old = [], next = []] = [was.get(each), is.get(each)];
    const [shown] = [...next, ...old];
    if (shown === undefined || same(old.toSorted(byPath), next.toSorted(byPath))) return [];
    const what = `the ${roleNames[shown.role]} ${shown.name}`;
    return [{ field: 'contents', text: `${what} ${howContent(old, next)}` }];
  });
}

/** The change that is reported when only files changed that the command does not name. */
const workspaceChanged = 'files of the workspace changed';

function changesOfBinding(before: ApprovalSubject, now: ApprovalSubject): SubjectDifference[] {
  const [was, is] = [before.binding, now.binding];
  if (same(was ?? null, is ?? null)) return [];
  if (was?.kind === is?.kind && is?.kind === 'workspace') {
    return [{ field: 'binding', text: workspaceChanged }];
  }
  const text = is?.kind === 'unbound' ? `it is not bound what it runs: ${is.why}` : boundAnew;
  return [{ field: 'binding', text }];
}

const boundAnew = 'what is bound of the workspace is something else';

/** Whether only files that the command does not name made an approval void. */
export const isOnlyWorkspaceChange = (changes: readonly string[]): boolean =>
  changes.length > 0 && changes.every((text) => text === workspaceChanged);

const byPath = (a: SubjectContent, b: SubjectContent): number =>
  `${a.path}\0${a.sha256}` < `${b.path}\0${b.sha256}` ? -1 : 1;

function howContent(old: readonly SubjectContent[], next: readonly SubjectContent[]): string {
  if (old.length === 0) return 'is new';
  if (next.length === 0) return 'is no longer named';
  const [was, is] = [old[0]?.path ?? null, next[0]?.path ?? null];
  if (old.length > 1 || next.length > 1) return 'changed';
  if (is === null) return 'is gone';
  if (was === null) return `is there now: ${is}`;
  return was === is ? 'changed' : `is another file: ${is} instead of ${was}`;
}
