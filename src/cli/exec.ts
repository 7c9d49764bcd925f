/** `trl exec …`. */
import type { ExecReadAnswer } from '../client/index.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { printAnswer, printDimmed, printJson, printLines, printRows } from './print.ts';
import { feedStdin, relayCommand } from './relay.ts';
import { commandParams, commandText } from './run.ts';
import {
  connectRuntime,
  findExecByWord,
  findSessionByWord,
  parseExecId,
} from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { StandardOutput } from './standard-output.ts';
import {
  countFlagHint,
  durationFlagHint,
  parseCount,
  parseDuration,
  parseSize,
  sizeFlagHint,
} from './units.ts';

export async function runExecStart(args: CliArguments): Promise<number> {
  const named = args.text('session');
  if (named === undefined) {
    throw usageError('exec start', 'it needs --session ID; make one: trl session create');
  }
  if (args.words.length === 0) {
    throw usageError('exec start', 'there is no command');
  }
  const cwd = args.text('cwd');
  const params = commandParams(args, args.has('stdin') || args.has('pty'));
  await using client = await connectRuntime(args);
  const session = await findSessionByWord(client, named);
  const execId = await session.start(commandText(args.words), {
    ...params,
    ...(cwd === undefined ? {} : { cwd }),
  });
  return printAnswer(args, { exec_id: execId, session_id: session.id }, () => printLines([execId]));
}

export async function runExecList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const named = args.text('session');
  const session = named === undefined ? undefined : (await findSessionByWord(client, named)).id;
  const execs = await client.execs(session);
  const rows = execs.map((view) => [
    view.exec_id,
    view.state === 'exited' ? `exit ${view.exit_code ?? '?'}` : view.state,
    view.started_at,
    view.command,
  ]);
  return printRows(args, { execs }, ['EXECUTION', 'STATE', 'STARTED', 'COMMAND'], rows);
}

export async function runExecAttach(args: CliArguments): Promise<number> {
  const named = parseExecId(requireSingleWord(args, 'exec attach'));
  const from = args.read('from', parseCount, countFlagHint) ?? 0;
  using interrupts = new Interrupts();
  await using client = await connectRuntime(args, { signal: interrupts.signal });
  const execId = await findExecByWord(client, named);
  const { pty: display = false } = await client.exec(execId);
  await using stream = client.attach(execId, { from });
  return await relayCommand(client, stream, interrupts, {
    json: args.has('json'),
    raw: args.has('raw'),
    quiet: args.has('quiet'),
    stdin: false,
    pty: false,
    display,
    cancels: false,
  });
}

export async function runExecCancel(args: CliArguments): Promise<number> {
  const named = parseExecId(requireSingleWord(args, 'exec cancel'));
  await using client = await connectRuntime(args);
  const signal = args.text('signal');
  const execId = await findExecByWord(client, named);
  const target = { exec_id: execId, ...(signal === undefined ? {} : { signal }) };
  const stopped = await client.cancel(target);
  if (args.has('json')) {
    printJson({ stopped });
  }
  return 0;
}

export async function runExecRead(args: CliArguments): Promise<number> {
  const named = parseExecId(requireSingleWord(args, 'exec read'));
  const grep = args.text('grep');
  const asked = {
    from: args.read('from', parseCount, countFlagHint),
    max: args.read('max', parseSize, sizeFlagHint),
    wait_ms: args.read('wait', parseDuration, durationFlagHint),
    tail: args.read('tail', parseCount, countFlagHint),
  };
  const numbers = Object.entries(asked).filter(([, value]) => value !== undefined);
  await using client = await connectRuntime(args);
  const answer = await client.read({
    exec_id: await findExecByWord(client, named),
    ...Object.fromEntries(numbers),
    ...(grep === undefined ? {} : { grep }),
  });
  if (args.has('json')) printJson(answer);
  else await print(answer, args.has('raw'));
  return 0;
}

export async function runExecWrite(args: CliArguments): Promise<number> {
  const [id, ...texts] = args.words;
  if (id === undefined) throw usageError('exec write', 'which one? see: trl exec list');
  if (texts.length > 1) {
    throw usageError('exec write', 'TEXT must be one word: quote it');
  }
  const named = parseExecId(id);
  using interrupts = new Interrupts();
  await using client = await connectRuntime(args, { signal: interrupts.signal });
  const execId = await findExecByWord(client, named);
  const [text] = texts;
  if (text === undefined && !args.has('eof')) {
    await feedStdin(client, execId, { signal: interrupts.signal, eof: false, lenient: false });
  } else {
    await client.write({ exec_id: execId, data: text ?? '', eof: args.has('eof') });
  }
  if (args.has('json')) {
    printJson({ exec_id: execId });
  }
  return interrupts.exitCode ?? 0;
}

async function print(answer: ExecReadAnswer, raw: boolean): Promise<void> {
  if (answer.gap !== undefined) {
    printDimmed(`${answer.gap.to - answer.gap.from} bytes of output are no longer held`);
  }
  if (answer.omitted_lines !== undefined) {
    printDimmed(`${answer.omitted_lines} lines are cut or left out: ask for more with --max`);
  }
  const how = { raw, level: 'text' } as const;
  using stdout = new StandardOutput(process.stdout, how, () => {});
  using stderr = new StandardOutput(process.stderr, how, () => {});
  const outputs = { stdout, stderr };
  for (const chunk of answer.chunks) {
    const bytes = 'data' in chunk ? Buffer.from(chunk.data) : Buffer.from(chunk.b64, 'base64');
    await outputs[chunk.stream].write(bytes);
  }
  await Promise.all([outputs.stdout.flush(), outputs.stderr.flush()]);
}
