/** `trl tool …`: the tools that were registered with the runtime. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ToolFileError, readToolFile } from '../configuration/tool-file.ts';
import { trustProjectTools } from '../configuration/tool-trust.ts';
import { TrlError } from '../errors.ts';
import { version } from '../protocol/version.ts';
import { formatFileProblem } from '../yaml/file-error.ts';
import { readOwnedFile } from '../yaml/owned-file.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { Interrupts, interruptedExitCode } from './interrupts.ts';
import {
  escapeControls,
  escapeHiddenText,
  printJson,
  printLines,
  printMessage,
  printRows,
} from './print.ts';
import { connectRuntime, findSessionByWord } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { durationFlagHint, parseDuration } from './units.ts';
import { isJsonObject } from '../protocol/json.ts';

export async function runToolList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('tool.list', await ofSession(args, client));
  const rows = answer.tools.map(({ name, source, description }) => [
    name,
    source,
    escapeHiddenText(description.split('\n', 1)[0] ?? ''),
  ]);
  return printRows(args, answer, ['TOOL', 'SOURCE', 'DESCRIPTION'], rows);
}

/**
 * Exits as the tool's command does; 0 where the tool is no command. An interrupt ends the call, and
 * what runs for it.
 */
export async function runToolCall(args: CliArguments): Promise<number> {
  const name = requireSingleWord(args, 'tool call');
  const waitMs = args.read('wait', parseDuration, durationFlagHint);
  const given = inputOf(args);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  const params = {
    name,
    arguments: given,
    ...(await ofSession(args, client)),
    ...(waitMs === undefined ? {} : { wait_ms: waitMs }),
  };
  // Loaded here alone: no other verb of tools pays for it.
  const { callRegisteredTool } = await import('../tools/index.ts');
  const answer = await callRegisteredTool(client, params, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return null;
  });
  if (answer === null) return interrupts.exitCode ?? interruptedExitCode;
  const { receipt, result } = answer;
  if (args.has('json')) printJson(answer);
  else if (receipt === undefined) {
    printLines([escapeControls(JSON.stringify(result))]);
  } else {
    process.stdout.write(escapeControls(receipt.stdout));
    process.stderr.write(escapeControls(receipt.stderr));
  }
  return receipt?.exit_code ?? 0;
}

/** Exit code 1 when one of the files cannot be used. */
export async function runToolCheck(args: CliArguments): Promise<number> {
  if (args.words.length === 0) throw usageError('tool check', 'name a file');
  let failed = false;
  for (const file of args.words) {
    try {
      const bytes = readOwnedFile({ file, Failure: ToolFileError }, { owner: 'anyone' });
      if (bytes === null) throw new TrlError('INVALID_PARAMS', `Cannot check "${file}": no file`);
      const tool = readToolFile(bytes, { file, version: version() });
      if (args.has('json')) printJson({ file, ok: true, name: tool.name });
      else printMessage(`${escapeControls(file)}: ok: the tool ${tool.name}`);
    } catch (error) {
      if (!(error instanceof ToolFileError)) throw error;
      failed = true;
      const { problems } = error;
      if (args.has('json')) printJson({ file, ok: false, problems });
      else {
        for (const one of problems) {
          process.stderr.write(`${escapeControls(formatFileProblem(file, one))}\n`);
        }
      }
    }
  }
  return failed ? 1 : 0;
}

/** The tools of a project hold as they are now, until one of their files changes. */
export async function runToolTrust(args: CliArguments): Promise<number> {
  const [directory = '.', unwanted] = args.words;
  if (unwanted !== undefined) throw usageError('tool trust', `one directory, got "${unwanted}"`);
  const trusted = trustProjectTools(path.resolve(directory));
  if (args.has('json')) printJson(trusted);
  else if (trusted.files.length === 0) {
    printMessage(`${escapeControls(trusted.directory)} has no tools; forgotten`);
  } else {
    for (const file of trusted.files) {
      printMessage(`${escapeControls(file)} is trusted as it is now`);
    }
  }
  return 0;
}

async function ofSession(
  args: CliArguments,
  client: Parameters<typeof findSessionByWord>[0],
): Promise<{ session_id?: `s-${string}` }> {
  const word = args.text('session');
  return word === undefined ? {} : { session_id: (await findSessionByWord(client, word)).id };
}

/** `--input JSON` or `--input @FILE`. */
function inputOf(args: CliArguments): Readonly<Record<string, unknown>> {
  const text = args.text('input') ?? '{}';
  const found = parsed(text.startsWith('@') ? readInput(text.slice(1)) : text);
  if (isJsonObject(found)) return found;
  throw usageError('tool call', '--input must be one JSON object, or @FILE with one');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function readInput(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    const message = `Cannot read "${file}": there is no such file, or it may not be read`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
