/** `python_rpc`: one script that does the work of many calls. */
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import { commandResultFields } from './command-results.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { resolveCallSession } from './handles.ts';
import { runTerminalCommand, timeoutArgument } from './terminal.ts';
import { defineTool } from './tool.ts';
import type { Tool, ToolContext } from './tool.ts';

const feature = 'exec.python';

export const pythonRpcTool: Tool = defineTool(
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
      script: argumentSchemas.command.check(z.describe('the text of the script')),
      session_id: z.optional(argumentSchemas.sessionId),
      env_keys: z.optional(
        argumentSchemas.envKeys.check(z.describe('names of secrets and variables that it gets')),
      ),
      timeout: z.optional(timeoutArgument),
    }),
    output: commandResultFields,
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    },
    run: async (args, context) => {
      await checkFeature(context);
      const sessionId = await resolveCallSession(context, args.session_id);
      const params = {
        command: args.script,
        language: 'python',
        ...(args.env_keys === undefined ? {} : { env_keys: args.env_keys }),
      } as const;
      // Its own calls take the session lock, so the script itself does not.
      const command = { sessionId, params, mode: 'detached', policy: 'guarded' } as const;
      return runTerminalCommand(context, command, args.timeout);
    },
  },
  parseToolArguments,
);

/** A runtime that ignores the language would run the script as shell text. */
async function checkFeature({ client }: ToolContext): Promise<void> {
  const { features, version } = await client.call('system.hello', {});
  if (features.includes(feature)) return;
  const message = `Cannot run the script: the runtime (${version}) runs no scripts in Python`;
  throw new TrlError('BACKEND_UNAVAILABLE', message);
}
