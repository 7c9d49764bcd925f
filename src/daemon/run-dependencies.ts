/** The dependencies of `run.ts`, as this daemon provides them. */
import { macOf } from '../approval/key.ts';
import type { Bounds } from '../command.ts';
import { isTrlError, TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Recorder, RunDependencies } from '../execution.ts';
import type { RuntimeParts } from './services.ts';

export function createRunDependencies(
  options: Pick<
    RuntimeParts,
    | 'runners'
    | 'macKey'
    | 'connectHosts'
    | 'upstreamProxy'
    | 'eventLoop'
    | 'variables'
    | 'masking'
    | 'approvalService'
    | 'workspaceHost'
    | 'sessions'
  >,
  recorder: Recorder,
): RunDependencies {
  const {
    runners,
    macKey,
    connectHosts,
    upstreamProxy,
    eventLoop: turns,
    variables,
    masking,
    approvalService: approving,
    workspaceHost,
    sessions,
  } = options;
  return {
    recorder,
    sessionState: async (id) => {
      const link = await runners.link();
      const key = Buffer.from(macKey).toString('hex');
      return link.request('state', { session_id: id, key });
    },
    files: workspaceHost.lookups,
    variables,
    revealed: (workspace, requester) => approving.revealed(workspace, requester),
    allowedHosts: (workspace, by) => approving.allowedHosts(workspace, by),
    connectHosts,
    upstreamProxy,
    yieldToEventLoop: () => turns.next(),
    mac: (name, value) => macOf(macKey, name, value),
    launch: async (approved, permitted) => {
      const { session_id: session, command_env: env } = approved.plan;
      sessions.refuseEnded(session);
      const own = masking.given.note(session, env);
      const known = masking.valuesOf(session, own);
      await runners.addKnownSecrets(own, session);
      // A session that ends from here on ends the command: the runner is notified of both in order.
      const committed = permitted.then(() => sessions.refuseEnded(session));
      committed.catch(() => {});
      try {
        return await runners.launch(approved, { known, own: false, committed });
      } catch (error) {
        throw namingBounds(error, approved.plan.bounds);
      }
    },
    exited: (id) => runners.exited(id),
  };
}

/** Adds the bounds that may be the reason when a shell does not start. */
function namingBounds(error: unknown, bounds: Bounds): unknown {
  if (!isTrlError(error, 'SANDBOX_UNAVAILABLE')) return error;
  const named = narrowIn(bounds).join(', ');
  if (named === '') return error;
  const message = `${error.message}. The call is bounded by ${named}: ask for more`;
  return new TrlError('SANDBOX_UNAVAILABLE', message, { cause: error });
}

/** Wire names of the bounds that a call or a policy set below the usual values. */
function narrowIn(bounds: Bounds): readonly string[] {
  const all = [
    ['processes', bounds.processesMax, limits.processes.default],
    ['open_files', bounds.openFilesMax, limits.openFiles.default],
    ['file_bytes', bounds.fileBytesMax, limits.fileBytes.default],
    ['memory_bytes', bounds.memoryBytesMax, limits.memoryBytes.default],
    ['address_space_bytes', bounds.addressSpaceBytesMax, limits.addressSpaceBytes.default],
    ['cpu_s', bounds.cpuSeconds, limits.cpuSeconds.default],
  ] as const;
  return all.flatMap(([name, value, usual]) =>
    value === null || (usual !== null && value >= usual) ? [] : [`${name} ${value}`],
  );
}
