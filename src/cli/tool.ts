/** `trl tool …`: the tools that were registered with the runtime. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readTool, ToolFileError } from '../configuration/tool-file.ts';
import { trustTools } from '../configuration/tool-trust.ts';
import { TrlError } from '../errors.ts';
import { version } from '../protocol/version.ts';
import { readBytes } from '../yaml/gather.ts';
import { showProblem } from '../yaml/problem.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { exitInterrupted, Interrupts } from './interrupts.ts';
import { findSession, reach } from './reach.ts';
import { only } from './session.ts';
import { plain, say, sayJson, sayTable } from './show.ts';
import { parseDuration, durationWanted } from './units.ts';
import { visible } from './visible.ts';

export async function list(args: Args): Promise<number> {
  await using client = await reach(args);
  const answer = await client.call('tool.list', await ofSession(args, client));
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const rows = answer.tools.map(({ name, source, description }) => [
    name,
    source,
    visible(description.split('\n', 1)[0] ?? ''),
  ]);
  sayTable(['TOOL', 'SOURCE', 'DESCRIPTION'], rows);
  return 0;
}

/**
 * Exits as the tool's command does; 0 where the tool is no command. An interrupt ends the call, and
 * what runs for it.
 */
export async function call(args: Args): Promise<number> {
  const name = only(args, 'tool call');
  const waitMs = args.read('wait', parseDuration, durationWanted);
  const given = inputOf(args);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await reach(args, { signal });
  const params = {
    name,
    arguments: given,
    ...(await ofSession(args, client)),
    ...(waitMs === undefined ? {} : { wait_ms: waitMs }),
  };
  // Loaded here alone: no other verb of tools pays for it.
  const { callUntil } = await import('../tools/index.ts');
  const answer = await callUntil(client, params, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    return null;
  });
  if (answer === null) return interrupts.exitCode ?? exitInterrupted;
  const { receipt, result } = answer;
  if (args.has('json')) sayJson(answer);
  else if (receipt === undefined) process.stdout.write(`${plain(JSON.stringify(result))}\n`);
  else {
    process.stdout.write(plain(receipt.stdout));
    process.stderr.write(plain(receipt.stderr));
  }
  return receipt?.exit_code ?? 0;
}

/** Exit code 1 when one of the files cannot be used. */
export async function check(args: Args): Promise<number> {
  if (args.words.length === 0) throw usage('tool check', 'name a file');
  let failed = false;
  for (const file of args.words) {
    try {
      const bytes = readBytes({ file, Failure: ToolFileError }, { owner: 'anyone' });
      if (bytes === null) throw new TrlError('INVALID_PARAMS', `Cannot check "${file}": no file`);
      const tool = readTool(bytes, { file, version: version() });
      if (args.has('json')) sayJson({ file, ok: true, name: tool.name });
      else say(`${plain(file)}: ok: the tool ${tool.name}`);
    } catch (error) {
      if (!(error instanceof ToolFileError)) throw error;
      failed = true;
      const { problems } = error;
      if (args.has('json')) sayJson({ file, ok: false, problems });
      else for (const one of problems) process.stderr.write(`${plain(showProblem(file, one))}\n`);
    }
  }
  return failed ? 1 : 0;
}

/** The tools of a project hold as they are now, until one of their files changes. */
export async function trust(args: Args): Promise<number> {
  const [directory = '.', unwanted] = args.words;
  if (unwanted !== undefined) throw usage('tool trust', `one directory, got "${unwanted}"`);
  const trusted = trustTools(path.resolve(directory));
  if (args.has('json')) sayJson(trusted);
  else if (trusted.files.length === 0) say(`${plain(trusted.directory)} has no tools; forgotten`);
  else for (const file of trusted.files) say(`${plain(file)} is trusted as it is now`);
  return 0;
}

async function ofSession(
  args: Args,
  client: Parameters<typeof findSession>[0],
): Promise<{ session_id?: `s-${string}` }> {
  const word = args.text('session');
  return word === undefined ? {} : { session_id: (await findSession(client, word)).id };
}

/** `--input JSON` or `--input @FILE`. */
function inputOf(args: Args): Readonly<Record<string, unknown>> {
  const text = args.text('input') ?? '{}';
  const found = parsed(text.startsWith('@') ? readInput(text.slice(1)) : text);
  if (isObject(found)) return found;
  throw usage('tool call', '--input must be one JSON object, or @FILE with one');
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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
