/** What a call on the wire asks for, in the words of `command.ts`. Pure. */
import type { CommandRequest } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ExecParams } from '../../api/exec.ts';
import type { BrokerRequest, ExecutionRequest, ToolCommand } from '../../execution.ts';
import { parseHostRules } from '../../network/host-rules.ts';
import { expandPreset } from '../../network/presets.ts';
import { resolveBounds, type BoundMaxima } from '../../session/bounds.ts';
import type { SessionRecord } from '../../session/record.ts';

/** `timeout_ms` over `timeout_s`; 0 means the runtime's default. */
export function timeoutOf(params: { timeout_s?: number; timeout_ms?: number }): number | null {
  const ms = params.timeout_ms ?? (params.timeout_s === undefined ? 0 : params.timeout_s * 1_000);
  return ms === 0 ? null : ms;
}

/**
 * Names that a call asks for, each once.
 *
 * @throws TrlError `INVALID_PARAMS` for one that it sets as well
 */
export function requestedNames({
  env = {},
  env_keys: names = [],
}: {
  env?: Readonly<Record<string, string>>;
  env_keys?: readonly string[];
}): readonly string[] {
  const both = names.find((name) => Object.hasOwn(env, name));
  if (both === undefined) return [...new Set(names)].toSorted();
  const message = `Cannot take ${JSON.stringify(both)} from "env" and by "env_keys": give it once`;
  throw new TrlError('INVALID_PARAMS', message);
}

/** @throws TrlError `INVALID_PARAMS` for a host that is none */
function brokerRequest(text: string): BrokerRequest {
  const [, name = '', hosts = null] = /^([^=]*)(?:=(.*))?$/s.exec(text) ?? [];
  if (hosts === null) return { name, hosts };
  const texts = hosts.split(',').flatMap(expandPreset);
  try {
    return { name, hosts: parseHostRules(texts).map((rule) => rule.text) };
  } catch (error) {
    const bad = error instanceof Error ? JSON.stringify(error.message) : 'a host';
    throw new TrlError('INVALID_PARAMS', `Cannot broker ${name}: ${bad} is not the name of a host`);
  }
}

/** What is asked to run: by a caller, or by a tool that the daemon starts for one. */
export type CommandParams = ExecParams & { readonly tool?: ToolCommand };

/** As {@link createExecutionRequest}, for a session under a policy. */
export const createSessionRequest = (
  { record }: { readonly record: SessionRecord },
  params: CommandParams,
  { mode, policy }: { mode: CommandRequest['mode']; policy: { readonly limits: BoundMaxima } },
): ExecutionRequest => createExecutionRequest(record, params, { mode, maxima: policy.limits });

/** A call to run a command, with the session's bounds and the policy's below it. */
export function createExecutionRequest(
  record: SessionRecord,
  params: CommandParams,
  { mode, maxima }: { readonly mode: CommandRequest['mode']; readonly maxima: BoundMaxima },
): ExecutionRequest {
  const timeoutMs = timeoutOf(params);
  const { timeout_ms: _, ...sessionBounds } = record.bounds;
  // A session's time-out is for its foreground commands; servers run until they are ended.
  const inherited = mode === 'foreground' ? record.bounds : sessionBounds;
  const asked = {
    ...inherited,
    ...params.limits,
    ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
    ...(params.idle_timeout_ms ? { idle_timeout_ms: params.idle_timeout_ms } : {}),
    ...(params.grace_ms === undefined ? {} : { grace_ms: params.grace_ms }),
  };
  const atTerminal = mode === 'foreground' && params.pty && params.stdin_open === true;
  const isScript = params.language === 'python';
  if (isScript && params.cwd !== undefined) {
    const where = 'a script starts in a directory of its own; TRL_WORKSPACE names the workspace';
    throw new TrlError('INVALID_PARAMS', `Cannot use "cwd" with language "python": ${where}`);
  }
  return {
    command: params.command,
    ...(isScript ? { language: 'python' } : {}),
    ...(params.tool === undefined ? {} : { tool: params.tool }),
    cwd: params.cwd ?? null,
    ...(params.cwd_within === undefined ? {} : { cwdWithin: params.cwd_within }),
    env: params.env ?? {},
    stdin: stdinOf(params),
    pty: params.pty ?? null,
    bounds: resolveBounds(asked, atTerminal ? 'terminal' : mode, maxima),
    mode,
    execKey: params.exec_key ?? null,
    requested: requestedNames(params),
    ...(params.broker === undefined ? {} : { brokered: params.broker.map(brokerRequest) }),
    ...(params.reveal === undefined ? {} : { reveal: [...new Set(params.reveal)].toSorted() }),
    ...(params.workspace_mode === undefined ? {} : { workspaceMode: params.workspace_mode }),
    ...(params.policy === undefined ? {} : { policy: params.policy }),
  };
}

/** The standard input that a call gives, in one form. */
export function stdinOf(params: ExecParams): CommandRequest['stdin'] {
  if (params.stdin_open === true) return { kind: 'open' };
  if (params.stdin === undefined) return { kind: 'closed' };
  return {
    kind: 'bytes',
    base64: Buffer.from(params.stdin, params.stdin_encoding ?? 'utf8').toString('base64'),
  };
}
