/** What `trl publish` is about, as it was typed; and the runtime that is asked. */
import path from 'node:path';
import { TrlError, isTrlError } from '../client/index.ts';
import type { PublishCheckParams, PushedRef } from '../client/index.ts';
import { connectPrivate } from '../local/index.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { connectProject, findSessionForDirectory, parseExecId } from './runtime-connection.ts';
import type { ProjectConnection } from './runtime-connection.ts';

const textBytesMax = 4 * 1024 * 1024;
const refsBytesMax = 1024 * 1024;

type At = Pick<ProjectConnection, 'client' | 'root'>;

/** Reads standard input, refs or a text, where that is meant. */
export async function parsePublishTarget(
  args: CliArguments,
  verb: string,
): Promise<(at: At) => Promise<PublishCheckParams>> {
  const { words } = args;
  const range = args.text('git');
  const exec = args.text('exec');
  const kinds = [words.length > 0, exec !== undefined, args.has('changes')];
  const given = [...kinds, range !== undefined, args.has('staged')].filter(Boolean).length;
  if (given !== 1) {
    throw usageError(verb, 'say what: PATH…, --exec, --changes, --git, --staged or -');
  }
  if (args.has('output') && exec === undefined) throw usageError(verb, '--output goes with --exec');
  if (args.has('session') && !args.has('changes')) {
    throw usageError(verb, '--session goes with --changes');
  }
  const audience = args.text('audience');
  const common = audience === undefined ? {} : { audience };
  if (exec !== undefined) {
    const output = args.has('output') ? { output: true } : {};
    return async () => ({ ...common, kind: 'exec', exec_id: parseExecId(exec), ...output });
  }
  if (args.has('changes')) {
    return async ({ client }) => {
      const session = await findSessionForDirectory(client, args);
      return { ...common, kind: 'changes', session_id: session.id };
    };
  }
  if (args.has('staged')) return async ({ root }) => ({ ...common, path: root, kind: 'staged' });
  if (range !== undefined) {
    const remote = args.text('remote');
    const from = remote === undefined ? {} : { remote };
    const what =
      range === '-' ? { refs: refsIn((await fromStdin(refsBytesMax)).toString()) } : { range };
    return async ({ root }) => ({ ...common, path: root, ...from, ...what, kind: 'git' });
  }
  if (words.length === 1 && words[0] === '-') {
    const data = (await fromStdin(textBytesMax)).toString('base64');
    return async ({ root }) => ({ ...common, path: root, kind: 'text', data });
  }
  const paths = words.map((word) => path.resolve(word));
  return async ({ root }) => ({ ...common, path: root, kind: 'paths', paths });
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
export async function withPublishRuntime<T>(
  args: CliArguments,
  ask: (at: At) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const here = process.cwd();
  try {
    await using reached = await connectProject(args, here, { signal });
    return await ask(reached);
  } catch (error) {
    if (args.has('socket-path') || !isTrlError(error, 'WORKSPACE_ESCAPE')) throw error;
    await using client = await connectPrivate({ projects: true }, { signal });
    const { path: root } = await client.call('workspace.trust', { path: here });
    return await ask({ client, root });
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
