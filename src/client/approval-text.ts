/** The texts of an approval request, the same in every front end. */
import type { AnswerScope, ApprovalSubjectView } from '../api/approval.ts';

/** The meaning of each scope, as a person reads it. */
export const scopeMeanings = {
  once: 'this run alone',
  session: 'also allow identical commands in this session',
  project: 'from now on, by the rule that is shown',
} as const satisfies Record<AnswerScope, string>;

/** The kind of the text that is to be approved: `command` is a shell's. */
export function approvalTextKind({
  language,
  tool,
}: Pick<ApprovalSubjectView, 'language' | 'tool'>): string {
  if (tool !== undefined) return `tool "${tool.name}", SHA-256 ${tool.sha256.slice(0, 16)}`;
  return language === 'python' ? 'Python script' : 'command';
}

/** What a person reads of files that the approval does not name; `null`: nothing else runs. */
export function bindingText({ binding }: Pick<ApprovalSubjectView, 'binding'>): string | null {
  switch (binding?.kind) {
    case 'named':
      return null;
    case 'workspace': {
      const bound = `an approval binds all ${binding.entries} files of the workspace as they are`;
      const why = `${bound} (${binding.why})`;
      return `It may run files that it does not name, so ${why}, and none in HOME or /tmp`;
    }
    case 'unbound':
      return `WHAT IT RUNS IS NOT BOUND: it may change before it starts (${binding.why})`;
    case undefined:
      return 'WHAT IT RUNS IS NOT BOUND beyond the files that are shown';
  }
}

/** What a person reads of standard input besides its text; `null`: it is empty. */
export function inputHeading({
  stdin,
  input,
}: Pick<ApprovalSubjectView, 'stdin' | 'input'>): string | null {
  if (stdin === 'closed') return null;
  if (stdin === 'open') {
    return 'Its standard input stays open: what is written there while it runs needs no approval';
  }
  if (input === undefined) return 'It gets standard input, which is not held here';
  const all = input.is_whole ? '' : ', OF WHICH ONLY THE BEGINNING IS SHOWN';
  return `It gets on standard input (${input.bytes} bytes${all})`;
}
