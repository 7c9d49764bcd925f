/** `read`, `write`, `edit`, `list`, `search`: files of the project, as commands see them. */
import * as z from 'zod/mini';
import { encodeUtf8 } from '../client/bytes.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { ApprovalView } from '../api/approval.ts';
import { tagPattern } from '../redacted.ts';
import { waitingForApprovalResult } from './command-results.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { fileAnswerBytesMax, runFileProgram } from './file-command.ts';
import type { FileAnswer } from './file-command.ts';
import {
  editProgram,
  listProgram,
  readProgram,
  searchProgram,
  writeProgram,
} from './file-programs.ts';
import { redactionsField } from './redactions.ts';
import { readOnlyAnnotations, defineTool } from './tool.ts';
import type { Tool, ToolResult } from './tool.ts';

const answerKilobytes = fileAnswerBytesMax / 1024;
const linesDefault = 2_000;
const lineMax = 1_000_000_000;
const entriesMax = 1_000;
const matchesDefault = 100;
const matchesMax = 1_000;
const everyDepth = 99;
const pathBytesMax = 4_096;

const path = argumentSchemas.words(pathBytesMax);
const session = z.optional(
  argumentSchemas.sessionId.check(z.describe('default: that of terminal')),
);
const glob = z.optional(
  argumentSchemas.words(1_024).check(z.describe('names, such as *.ts or src/**')),
);
const answered = {
  session_id: z.string(),
  exec_id: z.string(),
  path: z.string(),
  notes: z.array(z.string()),
  redactions: redactionsField,
} as const;
const writes = { ...readOnlyAnnotations, readOnlyHint: false, destructiveHint: true } as const;

export const readFileTool: Tool = defineTool(
  {
    name: 'read',
    title: 'Read a file',
    description: `Reads a text file, at most ${linesDefault} lines or ${answerKilobytes} KB.`,
    input: z.strictObject({
      path: path.check(z.describe('as for terminal: from its directory, or absolute')),
      offset: z.optional(argumentSchemas.whole(1, lineMax).check(z.describe('first line, from 1'))),
      limit: z.optional(argumentSchemas.whole(1, lineMax).check(z.describe('lines'))),
      numbered: z.optional(argumentSchemas.flag),
      show_hidden: z.optional(argumentSchemas.flag.check(z.describe('a person is asked'))),
      session_id: session,
    }),
    output: {
      ...answered,
      content: z.string(),
      first_line: z.int(),
      lines: z.int(),
      total_lines: z.int(),
      truncated: z.boolean(),
    },
    annotations: readOnlyAnnotations,
    run: async ({ path: given, offset = 1, limit = linesDefault, ...more }, context) => {
      const words = [offset, limit, fileAnswerBytesMax];
      const program = { verb: 'read', text: readProgram, path: given, words } as const;
      const run = (reveal: readonly string[] | null): Promise<FileAnswer | ApprovalView> => {
        const shows = reveal === null ? program : { ...program, reveal };
        return runFileProgram(context, shows, more.session_id);
      };
      let answer = await run(null);
      // The approval is about this answer: what the file has later stays hidden.
      const hidden = more.show_hidden === true && !isQuestion(answer) ? answer.hidden : [];
      if (hidden.length > 0) answer = await run(hidden);
      return isQuestion(answer)
        ? waitingForApprovalResult(answer)
        : readResult(answer, more.numbered);
    },
  },
  parseToolArguments,
);

function readResult(answer: FileAnswer, isNumbered = false): ToolResult {
  const [first = 1, lines = 0, total = 0, , , cut, crlf, isOpen] = answer.numbers.map(Number);
  answer.seen.set(answer.numbers.slice(3, 5).join(' '));
  const notes = [...answer.notes];
  const next = first + lines;
  const isPart = cut === 1 || total < 0 || next <= total;
  const of = total < 0 ? '' : ` of ${total}`;
  if (isPart) notes.push(`Lines ${first} to ${next - 1}${of}; offset ${next} reads on.`);
  if (isPart && cut === 1 && !answer.body.endsWith('\n')) {
    notes.push(`Line ${first} is cut: terminal can read all of it.`);
  }
  if (crlf === 1) notes.push('Its lines end with CRLF.');
  if (isOpen === 1 && total > 0) notes.push('Its last line has no line end.');
  if (!answer.isUtf8) notes.push('It is not all UTF-8: other bytes are shown as U+FFFD.');
  const rows = answer.body.split('\n');
  const shown = answer.body === '' || answer.body.endsWith('\n') ? rows.length - 1 : rows.length;
  const isExact = shown === lines;
  if (isNumbered && !isExact) notes.push('Not numbered: what is hidden goes over several lines.');
  const content = isNumbered && isExact ? numbered(answer.body, first) : answer.body;
  if (total === 0) notes.push('The file is empty.');
  return fileResult(answer, notes, content, {
    content,
    first_line: first,
    lines,
    ...(total < 0 ? {} : { total_lines: total }),
    truncated: isPart,
  });
}

const numbered = (text: string, first: number): string =>
  text
    .split('\n')
    .map((row, at, all) => (at === all.length - 1 && row === '' ? '' : `${first + at}\t${row}`))
    .join('\n');

export const writeFileTool: Tool = defineTool(
  {
    name: 'write',
    title: 'Write a file',
    description: 'Writes a whole file, and makes its directories. For a part of one use edit.',
    input: z.strictObject({
      path,
      content: argumentSchemas.text(limits.stdinBytes.max),
      session_id: session,
    }),
    output: { ...answered, bytes: z.int() },
    annotations: { ...writes, idempotentHint: true },
    run: async ({ path: given, content, session_id: own }, context) => {
      refuseTags('write', 'content', content);
      const program = { verb: 'write', text: writeProgram, path: given, stdin: content } as const;
      const answer = await runFileProgram(context, program, own);
      if (isQuestion(answer)) return waitingForApprovalResult(answer);
      const [isNew, isSame, hadCrlf, ...states] = answer.numbers;
      const notes = [...answer.notes, ...staleness(answer, states)];
      if (isSame === '1') notes.push('It had this content before.');
      if (hadCrlf === '1') notes.push('Its lines ended with CRLF, and do not any more.');
      const bytes = encodeUtf8(content).length;
      const what = isNew === '1' ? 'Made' : 'Wrote';
      return fileResult(answer, notes, `${what} ${answer.path}, ${bytes} bytes.`, { bytes });
    },
  },
  parseToolArguments,
);

export const editFileTool: Tool = defineTool(
  {
    name: 'edit',
    title: 'Replace text in a file',
    description:
      'Replaces old text of a file by new text. The old text must match exactly and be there ' +
      'once, or give replace_all.',
    input: z.strictObject({
      path,
      old: argumentSchemas.text(limits.stdinBytes.max),
      new: argumentSchemas.text(limits.stdinBytes.max),
      replace_all: z.optional(argumentSchemas.flag),
      session_id: session,
    }),
    output: { ...answered, replaced: z.int(), at_lines: z.array(z.int()) },
    annotations: writes,
    run: async ({ path: given, old, new: text, replace_all: all, session_id: own }, context) => {
      refuseTags('edit', 'new', text);
      if (old === '') throw unfit('edit', '"old" is empty; write makes a file');
      if (old === text) throw unfit('edit', '"old" and "new" are equal');
      const bytes = encodeUtf8(old).length;
      if (bytes + encodeUtf8(text).length > limits.stdinBytes.max) {
        throw unfit('edit', `"old" and "new" have more than ${limits.stdinBytes.max} bytes`);
      }
      const words = [bytes, all === true ? 1 : 0];
      const stdin = `${old}${text}`;
      const program = { verb: 'edit', text: editProgram, path: given, words, stdin } as const;
      const answer = await runFileProgram(context, program, own).catch((error: unknown) => {
        throw explained(error, old);
      });
      if (isQuestion(answer)) return waitingForApprovalResult(answer);
      const [replaced = 0, crlf = 0, , , , , ...lines] = answer.numbers.map(Number);
      const notes = [...answer.notes, ...staleness(answer, answer.numbers.slice(2, 6))];
      if (crlf === 1) notes.push('Its lines end with CRLF: so do those of the new text.');
      const places = replaced === 1 ? '1 place' : `${replaced} places`;
      const more = replaced > lines.length ? ', …' : '';
      const where = `${lines.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${more}`;
      const done = `Replaced ${places} in ${answer.path}, ${where}.`;
      return fileResult(answer, notes, done, { replaced, at_lines: lines });
    },
  },
  parseToolArguments,
);

/** A tag hides text that the agent cannot give. */
function explained(error: unknown, old: string): unknown {
  const isMissing = error instanceof TrlError && error.message.includes('the old text is not in');
  if (!isMissing || old.match(tagPattern) === null) return error;
  const why = `${error.message}: "old" has a tag, and the file another text in its place`;
  return new TrlError(error.code, why, { data: error.data ?? {} });
}

/**
 * Whether the file was changed externally since the conversation saw it. `states`: before, after.
 */
function staleness({ seen }: FileAnswer, states: readonly string[]): string[] {
  const known = seen.before;
  seen.set(states.slice(2, 4).join(' '));
  if (known === undefined || isSameState(known, states.slice(0, 2).join(' '))) return [];
  return ['It was changed by something else since you last read or wrote it.'];
}

/**
 * Size, and time of change in seconds. A time that went through Node is a double of seconds, up to
 * 240 ns away from the original.
 */
function isSameState(one: string, other: string): boolean {
  const [size, time] = one.split(' ').map(Number);
  const [otherSize, otherTime] = other.split(' ').map(Number);
  return size === otherSize && Math.abs((time ?? 0) - (otherTime ?? 0)) < 2e-6;
}

/** The value that a tag hides would be lost: the file would contain the tag. */
function refuseTags(tool: string, name: string, text: string): void {
  const [tag] = text.match(tagPattern) ?? [];
  if (tag === undefined) return;
  const why = `"${name}" has ${tag}, which represents a hidden value; the file would contain it`;
  throw unfit(tool, `${why} instead of the value; edit only the text around it`);
}

const unfit = (tool: string, why: string): TrlError =>
  new TrlError('INVALID_PARAMS', `Cannot call ${tool}: ${why}`);

export const listFilesTool: Tool = defineTool(
  {
    name: 'list',
    title: 'List files',
    description: `Lists a directory, at most ${entriesMax} entries; with glob the files below it.`,
    input: z.strictObject({
      path: z.optional(path),
      glob,
      depth: z.optional(argumentSchemas.whole(1, everyDepth).check(z.describe('default 1'))),
      session_id: session,
    }),
    output: { ...answered, entries: z.array(z.string()), truncated: z.boolean() },
    annotations: readOnlyAnnotations,
    run: async ({ path: given = '.', glob: only = '', depth, session_id: own }, context) => {
      const levels = depth ?? (only === '' ? 1 : everyDepth);
      const words = [levels, only, entriesMax, fileAnswerBytesMax];
      const program = { verb: 'list', text: listProgram, path: given, words } as const;
      const answer = await runFileProgram(context, program, own);
      if (isQuestion(answer)) return waitingForApprovalResult(answer);
      const truncated = answer.numbers[1] === '1';
      const entries = answer.body.split('\n').slice(0, -1);
      const notes = [...answer.notes];
      if (truncated) notes.push('There are more: name a directory below it, or a glob.');
      const text = entries.length === 0 ? 'There are none.' : entries.join('\n');
      return fileResult(answer, notes, text, { entries, truncated });
    },
  },
  parseToolArguments,
);

export const searchFilesTool: Tool = defineTool(
  {
    name: 'search',
    title: 'Search in files',
    description: 'Finds lines that match a regular expression, in files that git does not ignore.',
    input: z.strictObject({
      pattern: argumentSchemas.words(1_024),
      path: z.optional(path.check(z.describe('directory or file'))),
      glob,
      ignore_case: z.optional(argumentSchemas.flag),
      context: z.optional(argumentSchemas.whole(0, 100).check(z.describe('lines around'))),
      max: z.optional(
        argumentSchemas.whole(1, matchesMax).check(z.describe(`default ${matchesDefault}`)),
      ),
      session_id: session,
    }),
    output: { ...answered, matches: z.int(), output: z.string(), truncated: z.boolean() },
    annotations: readOnlyAnnotations,
    run: async (args, context) => {
      const { pattern, path: given = '.', glob: only = '', max = matchesDefault } = args;
      const fold = args.ignore_case === true ? 1 : 0;
      const words = [pattern, only, fold, args.context ?? 0, max, fileAnswerBytesMax];
      const program = { verb: 'search', text: searchProgram, path: given, words } as const;
      const answer = await runFileProgram(context, program, args.session_id);
      if (isQuestion(answer)) return waitingForApprovalResult(answer);
      const [matches = 0, more = 0] = answer.numbers.map(Number);
      const notes = [...answer.notes];
      if (more === 1) notes.push(`There are more than ${matches}: narrow it, or raise max.`);
      const text = matches === 0 ? 'Nothing matches.' : answer.body;
      const data = { matches, output: answer.body, truncated: more === 1 };
      return fileResult(answer, notes, text, data);
    },
  },
  parseToolArguments,
);

const isQuestion = (answer: FileAnswer | ApprovalView): answer is ApprovalView =>
  'approval_id' in answer;

function fileResult(
  { data, path: real }: FileAnswer,
  notes: readonly string[],
  text: string,
  more: Readonly<Record<string, unknown>>,
): ToolResult {
  const body = text === '' || text.endsWith('\n') ? text : `${text}\n`;
  return {
    data: { ...data, path: real, ...more, notes },
    text: [body, ...notes.map((note) => `[note] ${note}\n`)].join('').replace(/\n$/u, ''),
  };
}
