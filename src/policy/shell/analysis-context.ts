/** The state of one analysis: its findings so far, and its position in the text. */
import type { MinimumDecision, CommandFinding, ContentReference, SourceSpan } from '../analysis.ts';
import type { AnalysisBudget, ShellCommand, ShellScript, ShellWord } from '../syntax/script.ts';
import type { FileMentionsBuilder } from './mentions.ts';
import { legibleWord } from './derived-words.ts';

/** Shared by all scripts of one analysis. */
export interface AnalysisState {
  readonly findings: CommandFinding[];
  readonly named: Map<string, ContentReference>;
  readonly mentions: FileMentionsBuilder;
  readonly budget: AnalysisBudget;
  /** Programs already read, by text: each is read once, however often it is reached. */
  readonly read: Set<string>;
  /** How many commands were classified, and words of them. */
  classifiedCount: number;
  words: number;
  /** Judges a command that starts a shell of another language; `null`: none is known. */
  readonly foreign: ForeignShellJudge | null;
  /** Indexes in `findings` by code and position, so that each is reported once. */
  readonly reportedAt: Map<string, number>;
}

/** Given from outside, because those shells start these again. */
export type ForeignShellJudge = (command: ShellCommand, walk: AnalysisContext) => void;

/** A place in the analysis. */
export interface AnalysisContext {
  readonly found: AnalysisState;
  /** The script that is being read, and its text. */
  readonly script: ShellScript;
  readonly source: string;
  /** The word of the original text that carries it; `null`: it is the original text. */
  readonly carrier: SourceSpan | null;
  /** On another machine or in a container: variables there are not ours. */
  readonly elsewhere?: boolean;
  readonly via: readonly string[];
}

export const wrapperDepthMax = 64;
/** Number of commands classified after the time limit: a busy machine must not hide a block. */
export const alwaysClassified = { commands: 256, words: 4_096 };
/** Words of one command that are examined; a command with more needs approval. */
export const commandWordsMax = 8_192;
const evidenceMax = 200;
/** Names that one finding is about. */
const variablesMax = 64;

/** A finding without its position. */
export interface FindingReason {
  readonly code: string;
  readonly bound: MinimumDecision;
  readonly why: string;
  readonly instead: string | null;
  /** Names of all variables concerned. Default: unknown. */
  readonly variables?: readonly string[];
  /** See {@link CommandFinding.isNeverMeant}. */
  readonly isNeverMeant?: boolean;
}

/** Adds a finding about `command`; the same code at the same position is reported once. */
export function reportFinding(
  walk: AnalysisContext,
  reason: FindingReason,
  command: ShellCommand,
  shown?: string,
): void {
  if (walk.elsewhere === true && reason.code === 'secrets.environment') return;
  const span = walk.carrier ?? command.span;
  const key = `${reason.code} ${span[0]} ${span[1]} ${walk.via.join('>')}`;
  const { findings, reportedAt } = walk.found;
  const at = reportedAt.get(key);
  const before = at === undefined ? undefined : findings[at];
  if (at !== undefined && before !== undefined) {
    findings[at] = joined(before, reason);
    return;
  }
  reportedAt.set(key, findings.length);
  const evidence = shown ?? evidenceOf(command.words);
  const { code, bound, why, instead, variables, isNeverMeant = false } = reason;
  findings.push({
    code,
    bound,
    span,
    via: walk.via,
    evidence: evidence.length > evidenceMax ? `${evidence.slice(0, evidenceMax)}…` : evidence,
    why,
    instead,
    ...(variables === undefined ? {} : { variables }),
    ...(isNeverMeant ? { isNeverMeant } : {}),
  });
}

/** With the variables of both; where those of one are not known, or many, they are not known. */
function joined(
  { variables: before, ...first }: CommandFinding,
  reason: FindingReason,
): CommandFinding {
  const { variables } = reason;
  const finding = reason.isNeverMeant === true ? { ...first, isNeverMeant: true } : first;
  if (before === undefined || variables === undefined) return finding;
  const all = [...new Set([...before, ...variables])];
  return all.length > variablesMax ? finding : { ...finding, variables: all };
}

/** No more words than are shown: a command may have thousands. */
function evidenceOf(words: readonly ShellWord[]): string {
  const first = words.slice(0, evidenceMax);
  return first.map((word) => legibleWord(word)).join(' ');
}

/** Notes what decides by its content what the command does. */
export function noteContentReference(
  walk: AnalysisContext,
  role: ContentReference['role'],
  what: string,
): void {
  walk.found.named.set(`${role} ${what}`, { role, name: what });
}

/** The same context inside one more wrapper. */
export function insideWrapper(walk: AnalysisContext, wrapper: string): AnalysisContext {
  return { ...walk, via: [...walk.via, wrapper] };
}
