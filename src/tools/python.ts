/** `python_rpc`: one script that does the work of many calls. */
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import { commandOutput } from './answers.ts';
import { argument, checkArguments } from './arguments.ts';
import { sessionOf } from './handles.ts';
import { runBounded, timeoutArgument } from './terminal.ts';
import { toolOf } from './tool.ts';
import type { Tool, ToolContext } from './tool.ts';

const feature = 'exec.python';

export const pythonRpc: Tool = toolOf(
  {
    name: 'python_rpc',
    title: 'Run a Python script that calls tools',
    description:
      'Runs a Python 3 script (isolated, standard library) in a sandbox, in ' +
      'a fresh directory that ' +
      'is removed afterwards. In it `rpc.call("terminal", command="ls")` calls the tools of this ' +
      'server and answers what they answer, each call decided by policy; ' +
      'print only what matters. ' +
      'A person is asked about the script, once for each text of it. Bounds as for terminal.',
    input: z.strictObject({
      script: argument.command.check(z.describe('the text of the script')),
      session_id: z.optional(argument.sessionId),
      env_keys: z.optional(
        argument.envKeys.check(z.describe('names of secrets and variables that it gets')),
      ),
      timeout: z.optional(timeoutArgument),
    }),
    output: commandOutput,
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    run: async (args, context) => {
      await checkFeature(context);
      const sessionId = await sessionOf(context, args.session_id);
      const params = {
        command: args.script,
        language: 'python',
        ...(args.env_keys === undefined ? {} : { env_keys: args.env_keys }),
      } as const;
      // Its own calls take turns in the session, so the script itself takes none.
      const command = { sessionId, params, mode: 'detached', policy: 'guarded' } as const;
      return runBounded(context, command, args.timeout);
    },
  },
  checkArguments,
);

/** A runtime that ignores the language would take the script for shell text. */
async function checkFeature({ client }: ToolContext): Promise<void> {
  const { features, version } = await client.call('system.hello', {});
  if (features.includes(feature)) return;
  const message = `Cannot run the script: the runtime (${version}) runs no scripts in Python`;
  throw new TrlError('BACKEND_UNAVAILABLE', message);
}
