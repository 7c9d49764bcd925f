/** The files that a command made, as subjects of a statement, and its other changes. */
import type { Change, Entry, RecordedChanges } from '../change.ts';
import { limits } from '../limits.ts';
import { displayPath, encodePathName } from './logged-events.ts';
import type { OtherChange, CommandPredicate, StatementSubject } from './predicate.ts';

/** Replaces each known secret in the text with a tag. Must not throw. */
export type RedactKnownSecrets = (text: string) => string;

export interface StatementChanges {
  readonly subjects: StatementSubject[];
  readonly changes: NonNullable<CommandPredicate['changes']>;
}

/**
 * Limit of the subjects and other changes in a statement: in base64 and with everything else, it
 * must fit into one event of the audit log (`limits.auditEventBytes`).
 */
const changesBytesMax = 2.25 * 1024 * 1024;

/** Files that exist afterwards with a known content are subjects; other changes are `others`. */
export function collectSubjects(
  recorded: RecordedChanges,
  redact: RedactKnownSecrets,
): StatementChanges {
  const { snapshot, mode, changes, complete } = recorded;
  const subjects: StatementSubject[] = [];
  const others: OtherChange[] = [];
  const kinds: NonNullable<CommandPredicate['changes']>['kinds'] = {};
  const states: NonNullable<CommandPredicate['changes']>['states'] = {};
  const omitted = { subjects: 0, others: 0 };
  let bytes = 0;
  for (const change of changes) {
    kinds[change.kind] = (kinds[change.kind] ?? 0) + 1;
    states[change.state] = (states[change.state] ?? 0) + 1;
    const sha256 = contentOf(change.after);
    const list = sha256 === null ? 'others' : 'subjects';
    const isFull = subjects.length + others.length >= limits.statementSubjects.max;
    const entry = sha256 === null ? otherOf(change, redact) : subjectOf(change, sha256, redact);
    bytes += isFull ? 0 : Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (isFull || bytes > changesBytesMax) omitted[list] += 1;
    else if ('digest' in entry) subjects.push(entry);
    else others.push(entry);
  }
  return {
    subjects: subjects.length === 0 ? [treeSubject(snapshot.after)] : subjects,
    changes: {
      before: snapshot.before,
      after: snapshot.after,
      method: snapshot.method,
      mode,
      complete,
      total: changes.length,
      kinds,
      states,
      others,
      subjects_omitted: omitted.subjects,
      others_omitted: omitted.others,
    },
  };
}

/** The whole workspace; no path in it is called `.`. */
function treeSubject(tree: string): StatementSubject {
  const sha256 = tree.slice(tree.lastIndexOf(':') + 1);
  return { name: '.', digest: { sha256 }, annotations: { tree } };
}

function subjectOf(change: Change, sha256: string, redact: RedactKnownSecrets): StatementSubject {
  const { kind, state, before, after, reason, marks } = change;
  const { name, masked } = subjectName(change.path, redact);
  const mode = after?.type === 'file' ? after.mode.toString(8).padStart(4, '0') : null;
  return {
    name,
    digest: { sha256 },
    annotations: {
      kind,
      state,
      before: contentOf(before),
      ...(mode === null ? {} : { mode }),
      ...(reason === null ? {} : { reason }),
      ...(marks.length === 0 ? {} : { marks: [...marks] }),
      ...(masked ? { masked } : {}),
    },
  };
}

function otherOf(change: Change, redact: RedactKnownSecrets): OtherChange {
  const { kind, state, before, after, marks } = change;
  const { name, masked } = subjectName(change.path, redact);
  const target = after?.type === 'symlink' ? subjectName(after.target, redact).name : null;
  return {
    name,
    kind,
    state,
    type: after?.type ?? null,
    before: contentOf(before),
    ...(target === null ? {} : { target }),
    ...(marks.length === 0 ? {} : { marks: [...marks] }),
    ...(masked ? { masked: true } : {}),
  };
}

/** A name that contains a secret is written with the tag, and is then not a path. */
function subjectName(path: string, redact: RedactKnownSecrets): { name: string; masked: boolean } {
  const shown = displayPath(path);
  const redacted = redact(shown);
  return redacted === shown
    ? { name: encodePathName(path), masked: false }
    : { name: redacted, masked: true };
}

const contentOf = (entry: Entry | null): string | null =>
  entry?.type === 'file' ? entry.sha256 : null;
