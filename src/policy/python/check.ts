/**
 * Static analysis of a Python script: CPython's own parser reads it; nothing is compiled to code or
 * run. Gathers facts: it starts the interpreter.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import * as z from 'zod/mini';
import type { Analysis, CommandFinding, ContentReference, SourceSpan } from '../analysis.ts';
import { classifyArgv } from '../shell/classify.ts';
import type { CommandInvocation } from '../rules.ts';
import { fileSecrecy, isSecretVariableName } from '../shell/secret.ts';
import { pythonCallsSource } from './calls.ts';
import { pythonExpressionsSource } from './expressions.ts';
import { pythonStartSource } from './start.ts';
import { pythonStatementsSource } from './statements.ts';
import { pythonCheckerTables, pythonRefusals, type PythonRefusalCode } from './tables.ts';
import { pythonValuesSource } from './values.ts';

/** The name that the interpreter of a script is looked up and started by. */
export const pythonInterpreterName = 'python3';

/**
 * The checker as one Python program: the tables first, then its parts in the order of use. The
 * tables are strings, lists and objects only, whose JSON is also Python.
 */
const pythonCheckerProgram = [
  `T = ${JSON.stringify(pythonCheckerTables)}`,
  pythonValuesSource,
  pythonStatementsSource,
  pythonExpressionsSource,
  pythonCallsSource,
  pythonStartSource,
].join('\n');

const bytesMax = 64 * 1024;
const answerBytesMax = 4 * 1024 * 1024;
/** The checker limits its own CPU time; this limit is for one that hangs. */
const timeoutMs = 20_000;
const evidenceMax = 200;

/** Where the interpreter is searched: never on the caller's PATH. */
const places = ['/usr/bin/python3', '/usr/local/bin/python3', '/bin/python3'];

export interface PythonCheckOptions {
  /** Absolute paths tried in order. Default: the fixed places of the system. */
  readonly interpreters?: readonly string[];
}

const SpanTuple = z.tuple([z.number(), z.number()]);
const CheckerFinding = z.union([
  z.object({ kind: z.literal('argv'), detail: z.array(z.nullable(z.string())), span: SpanTuple }),
  z.object({
    kind: z.literal('file'),
    detail: z.tuple([z.string(), z.string(), z.boolean()]),
    span: SpanTuple,
  }),
  z.object({ kind: z.string(), detail: z.string(), span: SpanTuple }),
]);
const Answer = z.object({
  state: z.enum(['read', 'syntax', 'nesting', 'time']),
  line: z.optional(z.number()),
  commands: z.optional(z.number()),
  found: z.array(CheckerFinding),
});
type CheckerFinding = z.infer<typeof CheckerFinding>;

/** The result for a script: why it is not simply allowed, and what it starts. */
export interface ParsedPython {
  readonly analysis: Analysis;
  /** The interpreter itself first, then each program that the script starts by its words. */
  readonly invocations: readonly CommandInvocation[];
  /** Whether a part was not read, so that it may start other programs. */
  readonly isTruncated: boolean;
}

/**
 * Finds what a script must not do; a script always has at least one `ask` finding. Over 64 KiB
 * only the whole statements that fit are read. Never throws: unparsed input is an `ask` finding.
 */
export async function analysePython(
  text: string,
  options: PythonCheckOptions = {},
): Promise<Analysis> {
  return (await readPython(text, options)).analysis;
}

/** The same, with what the script starts, for user-written rules. */
export async function readPython(
  text: string,
  options: PythonCheckOptions = {},
): Promise<ParsedPython> {
  const whole: SourceSpan = [0, text.length];
  const itself: CommandInvocation = { argv: [pythonInterpreterName, '-I'], span: whole, via: [] };
  const interpreterNamed: ContentReference = { role: 'executable', name: pythonInterpreterName };
  const findings = [ask('python.always-asked', whole, 'a script always needs an approval')];
  const interpreter = (options.interpreters ?? places).find(executable);
  const part = fitting(text);
  if (part.length < text.length) {
    findings.push(ask('limit.bytes', whole, 'is longer than the 64 KiB that are read'));
  }
  if (interpreter === undefined) {
    findings.push(ask('python.unavailable', whole, 'no Python was found to read the script'));
    const analysis = { findings, allowed: null, named: [interpreterNamed], commands: 0 };
    return { analysis, invocations: [itself], isTruncated: true };
  }
  const answer = parsed(await answerOf(interpreter, part));
  if (answer === null) {
    findings.push(ask('python.unread', whole, 'the parser gave no answer within its bounds'));
    const analysis = { findings, allowed: null, named: [interpreterNamed], commands: 0 };
    return { analysis, invocations: [itself], isTruncated: true };
  }
  if (answer.state === 'syntax' && part.length === text.length) {
    findings.push(ask('python.syntax', whole, `line ${answer.line ?? 1} is not valid Python`));
  }
  if (answer.state === 'nesting') {
    findings.push(ask('limit.nesting', whole, 'is nested too deep to be read'));
  }
  if (answer.state === 'time') {
    findings.push(ask('limit.time', whole, 'took too long to be read'));
  }
  findings.push(...answer.found.flatMap(judged));
  const started = answer.found.flatMap(startedBy);
  findings.push(...started.flatMap((one) => one.findings));
  const named = [interpreterNamed, ...started.flatMap((one) => one.named)];
  const analysis = { findings, allowed: null, named, commands: answer.commands ?? 0 };
  const isShort = findings.some(({ code }) => code.startsWith('limit.'));
  const units = [itself, ...answer.found.flatMap(unitOf)];
  return { analysis, invocations: units, isTruncated: isShort || answer.state !== 'read' };
}

/** A program that the script starts by its words. */
function unitOf({ kind, detail, span }: CheckerFinding): CommandInvocation[] {
  if (kind !== 'argv' || !Array.isArray(detail)) return [];
  const argv = detail.map((word) => (typeof word === 'string' ? word : null));
  return [{ argv, span: [span[0], span[1]], via: ['subprocess'] }];
}

function judged(found: CheckerFinding): readonly CommandFinding[] {
  const { kind, detail } = found;
  const span: SourceSpan = [found.span[0], found.span[1]];
  if (kind === 'limit.nesting') {
    return [ask('limit.nesting', span, 'is nested too deep to be read')];
  }
  if (Array.isArray(detail)) {
    return kind === 'file' && opensSecret(detail)
      ? [block('secrets.file', span, detail.filter((part) => typeof part === 'string').join('…'))]
      : [];
  }
  if (kind === 'variable') {
    return isSecretVariableName(detail) ? [block('secrets.variable', span, detail)] : [];
  }
  return [block(kind, span, detail)];
}

/** Findings of the shell rules about a program that the script starts by its words. */
function startedBy({ kind, detail, span }: CheckerFinding): Pick<Analysis, 'findings' | 'named'> {
  const none: { findings: CommandFinding[]; named: ContentReference[] } = {
    findings: [],
    named: [],
  };
  if (kind !== 'argv' || !Array.isArray(detail)) return none;
  const argv = detail.map((word) => (typeof word === 'string' ? word : null));
  if (argv[0] == null) return none;
  const { findings, named } = classifyArgv(argv, { span: [span[0], span[1]], via: ['subprocess'] });
  return { findings: findings.filter(({ bound }) => bound === 'block'), named };
}

/** A path is known as its start, its end, and whether both are the whole of it. */
function opensSecret(path: readonly unknown[]): boolean {
  const [head, tail, exact] = path;
  if (typeof head !== 'string' || typeof tail !== 'string') return false;
  if (exact === true) return fileSecrecy(slashed(head)) === 'block';
  // `f"{x}.env"` may be any file of that ending; `f"{x}/.env"` is one.
  const whole = head.startsWith('/proc/') ? `/proc/x${tail}` : tail;
  return tail.includes('/') && fileSecrecy(slashed(whole)) === 'block';
}

const slashed = (path: string): string => path.replaceAll('\\', '/').replace(/^[a-z]:/i, '');

const others = {
  'secrets.file': {
    why: 'opens a file of secrets',
    instead: 'Read a template such as .env.example, or ask for the one value that is needed.',
  },
  'secrets.variable': { why: 'shows a secret variable', instead: null },
} as const;

const isReason = (code: string): code is PythonRefusalCode => Object.hasOwn(pythonRefusals, code);

function block(code: string, span: SourceSpan, evidence: string): CommandFinding {
  const known = isReason(code)
    ? pythonRefusals[code]
    : code === 'secrets.variable'
      ? others['secrets.variable']
      : others['secrets.file'];
  return {
    code,
    bound: 'block',
    span,
    via: [],
    evidence: evidence.slice(0, evidenceMax),
    why: known.why,
    instead: known.instead,
  };
}

function ask(code: string, span: SourceSpan, why: string): CommandFinding {
  return { code, bound: 'ask', span, via: [], evidence: '', why, instead: null };
}

function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The text, or its longest part of whole lines that ends before an unindented one. */
function fitting(text: string): string {
  if (Buffer.byteLength(text) <= bytesMax) {
    return text;
  }
  const bytes = Buffer.from(text).subarray(0, bytesMax);
  for (let end = bytes.lastIndexOf(10); end >= 0; end = bytes.lastIndexOf(10, end - 1)) {
    const next = bytes[end + 1];
    const indented = next === undefined || next === 32 || next === 9 || next === 10 || next === 13;
    if (!indented) {
      return bytes.subarray(0, end + 1).toString();
    }
    if (end === 0) {
      break;
    }
  }
  return '';
}

/** What the checker writes, or `null` when it fails or is ended: nothing of the text is run. */
function answerOf(interpreter: string, text: string): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const child = execFile(
    interpreter,
    ['-I', '-S', '-B', '-W', 'ignore', '-c', pythonCheckerProgram],
    {
      cwd: '/',
      env: {},
      encoding: 'utf8',
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: answerBytesMax,
    },
    (error, stdout) => resolve(error === null ? stdout : null),
  );
  // The checker may end before it has read all input; its exit code counts, not the pipe.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(text);
  return promise;
}

function parsed(answer: string | null): z.infer<typeof Answer> | null {
  if (answer === null) {
    return null;
  }
  try {
    const found = Answer.safeParse(JSON.parse(answer));
    return found.success ? found.data : null;
  } catch {
    return null;
  }
}
