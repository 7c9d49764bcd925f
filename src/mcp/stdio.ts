/**
 * MCP on standard input and output, for the program that started this one. It ends with the input
 * or with that program, and removes what the conversation left.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createRequestStateCodec } from '@modelcontextprotocol/server';
import type { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { CacheTool } from '../caches.ts';
import type { Client, SessionId } from '../client/index.ts';
import { createConversation } from '../tools/index.ts';
import type { Conversation } from '../tools/index.ts';
import { policyProfiles, type PolicyProfile } from '../command.ts';
import type { ApprovalRequestState } from './approval-form.ts';
import { ClientCallKeys } from './call-keys.ts';
import { ToolListWatcher } from './tool-list-watcher.ts';
import { createMcpServer } from './server.ts';
import type { ToolSet } from './tool-sets.ts';
import { StdioTransport } from './stdio-transport.ts';

export interface McpStdioOptions {
  /** Connected to the runtime; the caller closes it. */
  readonly client: Client;
  /**
   * The project's directory, absolute and real; or a function that finds it at the first call from
   * the directories that the client's program has open (`roots/list`), and throws a TrlError.
   */
  readonly root: string | ((open: () => Promise<readonly string[]>) => Promise<string>);
  /** Default `all`. */
  readonly tools?: ToolSet;
  /**
   * A profile that its commands must pass besides the runtime's policy; default: that of each tool.
   */
  readonly policy?: PolicyProfile;
  /** Programs whose caches of the host's user its commands can read; default: none. */
  readonly shareCache?: readonly CacheTool[];
  readonly version: string;
  /** Ends the server. */
  readonly signal: AbortSignal;
}

/** How often to check that the parent exists, in `ms`. */
const parentPollMs = 500;
/** How long ending the sessions of the conversation may take, in `ms`. */
const endMs = 5_000;
const stateSeconds = 900;
/** How long a client may take to list its open directories, in `ms`. */
const rootsMs = 10_000;

/**
 * Serves until the input ends, the parent has ended, or `signal` aborts. A regular end destroys the
 * sessions that the conversation created, except those with pending changes; after a crash the next
 * server of the same parent finds the default one again, and a repeated call attaches to the
 * running one.
 */
export async function serveMcpOnStdio(options: McpStdioOptions): Promise<void> {
  const { client, tools = 'all', shareCache, version, signal } = options;
  const parent = process.ppid;
  // A program that works in several projects starts a server in each.
  const place = typeof options.root === 'string' ? options.root : randomBytes(16).toString('hex');
  // Sessions with another view are different ones.
  const sees = [place, ...(shareCache ?? [])].join(' ');
  const name = `mcp ${parentName(parent)} ${sha256(sees).slice(0, 12)}`;
  let current: Server | null = null;
  const root = rootOf(options.root, () => openIn(current));
  const policy = stricter(options.policy, tools === 'strict' ? 'guarded' : 'auto');
  const ofSessions = { policy, ...(shareCache === undefined ? {} : { shareCache }) };
  const kept = keeping(
    createConversation({ client, root, name, ...ofSessions, endsWithClient: true, isAlone: true }),
  );
  const codec = createRequestStateCodec<ApprovalRequestState>({
    key: randomBytes(32),
    ttlSeconds: stateSeconds,
  });
  const { sessions } = kept;
  const given = new ClientCallKeys();
  using changes = new ToolListWatcher(client, async () => current?.sendToolListChanged());
  const server = () => {
    const made = createMcpServer({
      client,
      root,
      sessions,
      tools,
      version,
      mayDecide: true,
      codec,
      keyOf: async ({ id, digest, given: named, sessions: own }) => {
        if (named !== null) given.check(named, digest);
        const scope = named === null ? `${typeof id} ${id}` : `given ${named}`;
        // The session's id distinguishes the calls of this conversation from those of another.
        // If no session can be created, the call reports why.
        const session = await own.session().catch(() => '');
        return sha256(`${name}\n${session}\n${scope}\n${digest}`);
      },
      onListed: (tools) => changes.recordListed(tools),
    });
    current = made;
    return made;
  };
  const ended = Promise.withResolvers<void>();
  const transport = new StdioTransport(process.stdin, process.stdout, () => ended.resolve());
  const handle = serveStdio(server, {
    transport,
    onerror: (error) => process.stderr.write(`trl mcp: ${error.message}\n`),
  });
  const poll = setInterval(() => {
    if (process.ppid !== parent) ended.resolve();
  }, parentPollMs);
  const stop = (): void => ended.resolve();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    await ended.promise;
  } finally {
    clearInterval(poll);
    signal.removeEventListener('abort', stop);
    await handle.close().catch(() => {});
    await within(endMs, endAll(client, kept.made()));
    await transport.flush();
  }
}

const stricter = (asked: PolicyProfile = 'trusted', usual: PolicyProfile): PolicyProfile =>
  policyProfiles.indexOf(asked) > policyProfiles.indexOf(usual) ? asked : usual;

/** Found once; if there is none, the next call tries again. */
function rootOf(
  given: McpStdioOptions['root'],
  open: () => Promise<readonly string[]>,
): () => Promise<string> {
  let found = typeof given === 'string' ? given : null;
  return async () => (found ??= typeof given === 'string' ? given : await given(open));
}

/** Directories that the client's program has open; none if it does not report them. */
async function openIn(server: Server | null): Promise<string[]> {
  if (server?.getClientCapabilities()?.roots === undefined) return [];
  const { roots } = await server.listRoots(undefined, { timeout: rootsMs });
  return roots.flatMap(({ uri }) => (uri.startsWith('file://') ? [fileURLToPath(uri)] : []));
}

/** A conversation that remembers the sessions it created. */
function keeping(inner: Conversation): {
  readonly sessions: Conversation;
  made(): readonly Promise<SessionId>[];
} {
  const made: Promise<SessionId>[] = [];
  const known = new Set<SessionId>();
  const note = async (session: Promise<SessionId>): Promise<SessionId> => {
    const id = await session;
    if (!known.has(id)) {
      known.add(id);
      made.push(session);
    }
    return id;
  };
  return {
    sessions: {
      session: () => note(inner.session()),
      cachedSession: () => note(inner.cachedSession()),
      newSession: () => note(inner.newSession()),
      networkSession: () => note(inner.networkSession()),
      hostsSession: () => note(inner.hostsSession()),
      ...(inner.mayUse === undefined ? {} : { mayUse: inner.mayUse }),
      queuedExecutions: inner.queuedExecutions,
      ...(inner.files === undefined ? {} : { files: inner.files }),
      ...(inner.background === undefined ? {} : { background: inner.background }),
    },
    made: () => made,
  };
}

/** A session with pending changes is left to the person; its commands end. */
async function endAll(client: Client, made: readonly Promise<SessionId>[]): Promise<void> {
  const ends = made.map(async (session) => {
    const id = await session;
    if (!client.ownsDaemon && (await waits(client, id))) await client.cancel({ session_id: id });
    else await client.session(id).destroy({ force: true });
  });
  await Promise.allSettled(ends);
}

async function waits(client: Client, id: SessionId): Promise<boolean> {
  try {
    const { totals } = await client.call('workspace.status', { session_id: id });
    return totals.staged + totals.held + totals.conflicts > 0;
  } catch {
    // It has no workspace, or has ended.
    return false;
  }
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}

/**
 * The parent and its start time, so that a later process with the same number is not mistaken for
 * it.
 */
function parentName(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${pid}.${fields[19] ?? '0'}`;
  } catch {
    // Without /proc the number must suffice.
    return String(pid);
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
