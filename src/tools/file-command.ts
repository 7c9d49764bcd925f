/**
 * A file tool as a command: our own program runs in the session's sandbox, so that policy,
 * projection, redaction, record and undo apply as to any command.
 */
import { fromBase64, encodeUtf8 } from '../client/bytes.ts';
import type { SessionId } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import type { ApprovalView } from '../api/approval.ts';
import type { Receipt } from '../api/receipt.ts';
import { quoteSingle, quoteArgv } from '../quote.ts';
import { receiptNotes } from './command-results.ts';
import { resolveCallSession } from './handles.ts';
import { redactionFields } from './redactions.ts';
import { runCommand, terminalBounds } from './run-command.ts';
import type { ToolContext } from './tool.ts';

/** Bytes of a file, a list or matches in an answer. */
export const fileAnswerBytesMax = 48 * 1024;
/** Tags may be longer than what they hide. */
const outputBytes = 8 * fileAnswerBytesMax;
const filesMax = 1_024;

export interface FileProgram {
  /** Name of the tool. */
  readonly verb: 'read' | 'write' | 'edit' | 'list' | 'search';
  readonly text: string;
  readonly path: string;
  readonly words?: readonly (string | number)[];
  readonly stdin?: string;
  /** What the answer shows although it looks secret, by its `digest`. */
  readonly reveal?: readonly string[];
}

export interface FileAnswer {
  /** Real path of the file, absolute. */
  readonly path: string;
  /** As the program answers. */
  readonly numbers: readonly string[];
  readonly body: string;
  readonly isUtf8: boolean;
  /** What a person may allow the answer to show, by its `digest`. */
  readonly hidden: readonly string[];
  /** What happened to the change, and other notes. */
  readonly notes: readonly string[];
  /** Fields that every answer has. */
  readonly data: Readonly<Record<string, unknown>>;
  /** What the conversation knows of files, by the name of this one. */
  readonly seen: { readonly before: string | undefined; set(state: string): void };
}

/**
 * Runs it; answers an approval request if a person must decide.
 *
 * @throws TrlError `WORKSPACE_ESCAPE` for a path that leaves the project, `INVALID_PARAMS` with the
 *   reason of a failure, `COMMAND_TIMEOUT`, `COMMAND_FAILED`, and refusals of the runtime
 */
export async function runFileProgram(
  context: ToolContext,
  program: FileProgram,
  session: string | undefined,
): Promise<FileAnswer | ApprovalView> {
  const sessionId = await resolveCallSession(context, session);
  const root = await rootOf(context, session, sessionId);
  const { verb, path, words = [], stdin, reveal } = program;
  const argv = quoteArgv([verb, root, path, ...words.map(String)]);
  // The first line is for readers of records and approval requests.
  const title = `# ${verb} ${JSON.stringify(path)}`;
  const command = `${title}\n/usr/bin/perl -e ${quoteSingle(program.text)} -- ${argv}`;
  const params = {
    command,
    timeout_ms: terminalBounds.timeoutSecondsDefault * 1_000,
    ...(stdin === undefined ? {} : { stdin }),
    ...(reveal === undefined ? {} : { reveal }),
  };
  const { policy = 'auto' } = context;
  const ran = await runCommand(context, {
    sessionId,
    params,
    mode: 'detached',
    policy,
    outputBytes,
  });
  return ran.kind === 'asks' ? ran.approval : answerOf(ran.receipt, program, context);
}

/** In a session that the call names, the project is that session's workspace. */
async function rootOf(
  { client, workspace }: ToolContext,
  session: string | undefined,
  sessionId: SessionId,
): Promise<string> {
  if (session === undefined || session === 'new') return workspace.root;
  const info = await client.session(sessionId).info();
  return info.workspace ?? info.working_dir;
}

function answerOf(receipt: Receipt, { verb, path }: FileProgram, context: ToolContext): FileAnswer {
  const { session_id, exec_id } = receipt;
  const bytes =
    receipt.stdout_encoding === 'base64' ? fromBase64(receipt.stdout) : encodeUtf8(receipt.stdout);
  // A byte order mark is a character of the file.
  const output = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const [head, rest] = split(output);
  const fail = (code: 'COMMAND_TIMEOUT' | 'COMMAND_FAILED' | 'INVALID_PARAMS', why: string) => {
    const isOutside = why.includes('outside the project');
    return new TrlError(isOutside ? 'WORKSPACE_ESCAPE' : code, why, {
      data: { session_id, exec_id },
    });
  };
  const what = `Cannot ${verb} ${JSON.stringify(path)}`;
  if (receipt.timed_out) {
    const seconds = terminalBounds.timeoutSecondsDefault;
    throw fail('COMMAND_TIMEOUT', `${what}: it took more than ${seconds} s and was ended`);
  }
  if (head === 'no') throw fail('INVALID_PARAMS', rest);
  const [real, body] = split(rest);
  if (!head.startsWith('ok ') || receipt.exit_code !== 0 || receipt.truncated) {
    const said = receipt.stderr.trim().slice(0, 200);
    throw fail('COMMAND_FAILED', `${what}: exit ${receipt.exit_code}, ${said}`);
  }
  const { files = new Map<string, string>() } = context.sessions;
  const key = `${session_id} ${real}`;
  return {
    path: real,
    numbers: head.split(' ').slice(1),
    body,
    isUtf8: receipt.stdout_encoding === undefined,
    hidden: (receipt.redactions?.entries ?? []).flatMap(({ digest }) => digest ?? []),
    notes: receiptNotes(receipt),
    data: { session_id, exec_id, ...redactionFields(receipt.redactions) },
    seen: {
      before: files.get(key),
      set: (state) => {
        files.delete(key);
        files.set(key, state);
        const [oldest] = files.keys();
        if (files.size > filesMax && oldest !== undefined) files.delete(oldest);
      },
    },
  };
}

/** The first line, and what follows it. */
function split(text: string): [string, string] {
  const end = text.indexOf('\n');
  return end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end + 1)];
}
