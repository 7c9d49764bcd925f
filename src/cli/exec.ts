/** `trl exec …`. */
import type { ExecReadAnswer } from '../client/index.ts';
import { usage } from './args.ts';
import type { Args } from './args.ts';
import { feed } from './input.ts';
import { Interrupts } from './interrupts.ts';
import { Output } from './output.ts';
import { commandText } from './command-text.ts';
import { findExec, findSession, reach, toExecId } from './reach.ts';
import { relay } from './relay.ts';
import { commandParams } from './run.ts';
import { sayAside, sayJson, sayTable } from './show.ts';
import { only } from './session.ts';
import { countWanted, durationWanted, parseCount, parseDuration, parseSize } from './units.ts';
import { sizeWanted } from './units.ts';

export async function start(args: Args): Promise<number> {
  const named = args.text('session');
  if (named === undefined) {
    throw usage('exec start', 'it needs --session ID; make one: trl session create');
  }
  if (args.words.length === 0) {
    throw usage('exec start', 'there is no command');
  }
  const cwd = args.text('cwd');
  const params = commandParams(args, args.has('stdin') || args.has('pty'));
  await using client = await reach(args);
  const session = await findSession(client, named);
  const execId = await session.start(commandText(args.words), {
    ...params,
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (args.has('json')) {
    sayJson({ exec_id: execId, session_id: session.id });
  } else {
    process.stdout.write(`${execId}\n`);
  }
  return 0;
}

export async function list(args: Args): Promise<number> {
  await using client = await reach(args);
  const named = args.text('session');
  const session = named === undefined ? undefined : (await findSession(client, named)).id;
  const execs = await client.execs(session);
  if (args.has('json')) {
    sayJson({ execs });
    return 0;
  }
  const rows = execs.map((view) => [
    view.exec_id,
    view.state === 'exited' ? `exit ${view.exit_code ?? '?'}` : view.state,
    view.started_at,
    view.command,
  ]);
  sayTable(['EXECUTION', 'STATE', 'STARTED', 'COMMAND'], rows);
  return 0;
}

export async function attach(args: Args): Promise<number> {
  const named = toExecId(only(args, 'exec attach'));
  const from = args.read('from', parseCount, countWanted) ?? 0;
  using interrupts = new Interrupts();
  await using client = await reach(args, { signal: interrupts.signal });
  const execId = await findExec(client, named);
  const { pty: display = false } = await client.exec(execId);
  await using stream = client.attach(execId, { from });
  return await relay(client, stream, interrupts, {
    json: args.has('json'),
    raw: args.has('raw'),
    quiet: args.has('quiet'),
    stdin: false,
    pty: false,
    display,
    cancels: false,
  });
}

export async function cancel(args: Args): Promise<number> {
  const named = toExecId(only(args, 'exec cancel'));
  await using client = await reach(args);
  const signal = args.text('signal');
  const execId = await findExec(client, named);
  const target = { exec_id: execId, ...(signal === undefined ? {} : { signal }) };
  const stopped = await client.cancel(target);
  if (args.has('json')) {
    sayJson({ stopped });
  }
  return 0;
}

export async function read(args: Args): Promise<number> {
  const named = toExecId(only(args, 'exec read'));
  const grep = args.text('grep');
  const asked = {
    from: args.read('from', parseCount, countWanted),
    max: args.read('max', parseSize, sizeWanted),
    wait_ms: args.read('wait', parseDuration, durationWanted),
    tail: args.read('tail', parseCount, countWanted),
  };
  const numbers = Object.entries(asked).filter(([, value]) => value !== undefined);
  await using client = await reach(args);
  const answer = await client.read({
    exec_id: await findExec(client, named),
    ...Object.fromEntries(numbers),
    ...(grep === undefined ? {} : { grep }),
  });
  if (args.has('json')) {
    sayJson(answer);
  } else {
    await print(answer, args.has('raw'));
  }
  return 0;
}

export async function write(args: Args): Promise<number> {
  const [id, ...texts] = args.words;
  if (id === undefined) throw usage('exec write', 'which one? see: trl exec list');
  if (texts.length > 1) {
    throw usage('exec write', 'TEXT must be one word: quote it');
  }
  const named = toExecId(id);
  using interrupts = new Interrupts();
  await using client = await reach(args, { signal: interrupts.signal });
  const execId = await findExec(client, named);
  const [text] = texts;
  if (text === undefined && !args.has('eof')) {
    await feed(client, execId, { signal: interrupts.signal, eof: false, lenient: false });
  } else {
    await client.write({ exec_id: execId, data: text ?? '', eof: args.has('eof') });
  }
  if (args.has('json')) {
    sayJson({ exec_id: execId });
  }
  return interrupts.exitCode ?? 0;
}

async function print(answer: ExecReadAnswer, raw: boolean): Promise<void> {
  if (answer.gap !== undefined) {
    sayAside(`${answer.gap.to - answer.gap.from} bytes of output are no longer held`);
  }
  if (answer.omitted_lines !== undefined) {
    sayAside(`${answer.omitted_lines} lines are cut or left out: ask for more with --max`);
  }
  const how = { raw, level: 'text' } as const;
  using stdout = new Output(process.stdout, how, () => {});
  using stderr = new Output(process.stderr, how, () => {});
  const outputs = { stdout, stderr };
  for (const chunk of answer.chunks) {
    const bytes = 'data' in chunk ? Buffer.from(chunk.data) : Buffer.from(chunk.b64, 'base64');
    await outputs[chunk.stream].write(bytes);
  }
  await Promise.all([outputs.stdout.flush(), outputs.stderr.flush()]);
}
