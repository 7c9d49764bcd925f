/**
 * MCP on standard input and output, for the program that started this one. It ends with the input
 * or with that program, and takes with it what the conversation left.
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
   * The project's directory, absolute and real; or what finds it at the first call, by the
   * directories that the client's program has open (`roots/list`), and throws a TrlError.
   */
  readonly root: string | ((open: () => Promise<readonly string[]>) => Promise<string>);
  /** Default `all`. */
  readonly tools?: ToolSet;
  /** What its commands must pass besides the runtime's policy; default: as its tools say. */
  readonly policy?: PolicyProfile;
  /** Programs whose caches of the host's user its commands see; default: none. */
  readonly shareCache?: readonly CacheTool[];
  readonly version: string;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** How often it is looked whether the parent is there, in `ms`. */
const parentPollMs = 500;
/** How long the sessions of the conversation may take to end, in `ms`. */
const endMs = 5_000;
const stateSeconds = 900;
/** How long a client may take to say what it has open, in `ms`. */
const rootsMs = 10_000;

/**
 * Serves until the input ends, the parent is gone, or `signal` aborts. An orderly end destroys the
 * sessions that the conversation made, but for those in which changes wait for a person; after a
 * crash the next server of the same parent finds the default one again, and a call that is made
 * again attaches to what runs.
 */
export async function serveMcpOnStdio(options: McpStdioOptions): Promise<void> {
  const { client, tools = 'all', shareCache, version, signal } = options;
  const parent = process.ppid;
  // A program that works in several projects starts a server in each.
  const place = typeof options.root === 'string' ? options.root : randomBytes(16).toString('hex');
  // Sessions that see something else are others.
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
        // The id of the session parts the calls of this conversation from those of another. Where
        // there can be none, the call says why.
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

/** Found once; where there is none, looked for again by the next call. */
function rootOf(
  given: McpStdioOptions['root'],
  open: () => Promise<readonly string[]>,
): () => Promise<string> {
  let found = typeof given === 'string' ? given : null;
  return async () => (found ??= typeof given === 'string' ? given : await given(open));
}

/** Directories that the client's program has open; none where it does not tell. */
async function openIn(server: Server | null): Promise<string[]> {
  if (server?.getClientCapabilities()?.roots === undefined) return [];
  const { roots } = await server.listRoots(undefined, { timeout: rootsMs });
  return roots.flatMap(({ uri }) => (uri.startsWith('file://') ? [fileURLToPath(uri)] : []));
}

/** A conversation that remembers what it made. */
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
      ...(inner.mayUse === undefined ? {} : { mayUse: inner.mayUse }),
      queuedExecutions: inner.queuedExecutions,
      ...(inner.files === undefined ? {} : { files: inner.files }),
      ...(inner.background === undefined ? {} : { background: inner.background }),
    },
    made: () => made,
  };
}

/** One in which changes wait for a person is left to them; what runs in it ends. */
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
    // It has no workspace, or is gone.
    return false;
  }
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, ms);
  await Promise.race([work, late.promise]);
  clearTimeout(timer);
}

/** The parent and when it started, so that another one of the same number is not taken for it. */
function parentName(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${pid}.${fields[19] ?? '0'}`;
  } catch {
    // Without /proc the number alone has to do.
    return String(pid);
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
