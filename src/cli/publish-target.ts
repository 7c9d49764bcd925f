/** What `trl publish` is about, as it was typed; and the runtime that is asked. */
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isTrlError, TrlError } from '../client/index.ts';
import { connect } from '../local/index.ts';
import type { Client, PublishCheckParams, PushedRef } from '../client/index.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { sessionHere } from './here.ts';
import { projectOf } from './project.ts';
import { reach, toExecId } from './reach.ts';

const textBytesMax = 4 * 1024 * 1024;
const refsBytesMax = 1024 * 1024;

/** Reads standard input, refs or a text, where that is meant. */
export async function targetOf(
  args: Args,
  verb: string,
): Promise<(client: Client) => Promise<PublishCheckParams>> {
  const { words } = args;
  const range = args.text('git');
  const exec = args.text('exec');
  const kinds = [words.length > 0, exec !== undefined, args.has('changes')];
  const given = [...kinds, range !== undefined, args.has('staged')].filter(Boolean).length;
  if (given !== 1) throw usage(verb, 'say what: PATH…, --exec, --changes, --git, --staged or -');
  if (args.has('output') && exec === undefined) throw usage(verb, '--output goes with --exec');
  if (args.has('session') && !args.has('changes')) {
    throw usage(verb, '--session goes with --changes');
  }
  const audience = args.text('audience');
  const common = {
    path: projectOf(process.cwd()),
    ...(audience === undefined ? {} : { audience }),
  };
  if (exec !== undefined) {
    const { path: _, ...rest } = common;
    const output = args.has('output') ? { output: true } : {};
    return async () => ({ ...rest, kind: 'exec', exec_id: toExecId(exec), ...output });
  }
  if (args.has('changes')) {
    const { path: _, ...rest } = common;
    return async (client) => {
      const session = await sessionHere(client, args);
      return { ...rest, kind: 'changes', session_id: session.id };
    };
  }
  if (args.has('staged')) return async () => ({ ...common, kind: 'staged' });
  if (range !== undefined) {
    const remote = args.text('remote');
    const from = remote === undefined ? {} : { remote };
    const what =
      range === '-' ? { refs: refsIn((await fromStdin(refsBytesMax)).toString()) } : { range };
    return async () => ({ ...common, ...from, ...what, kind: 'git' });
  }
  if (words.length === 1 && words[0] === '-') {
    const data = (await fromStdin(textBytesMax)).toString('base64');
    return async () => ({ ...common, kind: 'text', data });
  }
  const paths = words.map((word) => path.resolve(word));
  return async () => ({ ...common, kind: 'paths', paths });
}

/** The lines that git gives a pre-push hook. @throws TrlError INVALID_PARAMS */
function refsIn(text: string): PushedRef[] {
  return text.split('\n').flatMap((line): PushedRef[] => {
    if (line.trim() === '') return [];
    const [local = '', localId = '', remote = '', remoteId = '', more] = line.trim().split(' ');
    if (remoteId === '' || more !== undefined) {
      const message = `Cannot read the refs of a push: ${JSON.stringify(line)}`;
      throw new TrlError('INVALID_PARAMS', message);
    }
    return [{ local_ref: local, local_id: localId, remote_ref: remote, remote_id: remoteId }];
  });
}

/**
 * The runtime that runs, else one of the command's own: also where that one works elsewhere, for
 * files and commits are read by any.
 */
export async function asking<T>(
  args: Args,
  ask: (client: Client) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const ephemeral = { workspaceRoots: [projectOf(process.cwd())] };
  try {
    await using client = await reach(args, { ephemeral, signal });
    return await ask(client);
  } catch (error) {
    if (args.has('socket-path') || !isTrlError(error, 'WORKSPACE_ESCAPE')) throw error;
    const nowhere = path.join(tmpdir(), 'trl-nowhere', 'none.sock');
    await using client = await connect({ socketPath: nowhere, ephemeral, signal });
    return await ask(client);
  }
}

async function fromStdin(bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const piece = Buffer.from(chunk);
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= bytesMax) continue;
    const message = `Cannot look at standard input: it is larger than ${bytesMax} bytes`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return Buffer.concat(pieces);
}
