/** What the story of `run.ts` needs of the outside, as this daemon has it. */
import { macOf } from '../approval/key.ts';
import type { Recorder, World } from '../run.ts';
import type { CoreOptions } from './core.ts';

export function worldOf(options: CoreOptions, recorder: Recorder): World {
  const { runners, macKey, turns, variables, masking } = options;
  return {
    recorder,
    state: async (id) => {
      const link = await runners.link();
      const key = Buffer.from(macKey).toString('hex');
      return stateOf(await link.request({ op: 'state', session_id: id, key }));
    },
    variables,
    turn: () => turns.next(),
    mac: (name, value) => macOf(macKey, name, value),
    launch: async (approved, permitted) => {
      const { session_id: session, command_env: env } = approved.plan;
      const own = masking.given.note(session, env);
      const known = masking.valuesOf(session, own);
      await runners.tellKnown(own, session);
      return runners.launch(approved, { known, own: false, permitted });
    },
    exited: (id) => runners.exited(id),
  };
}

function stateOf(answer: object): Awaited<ReturnType<World['state']>> {
  const cwd: unknown = Reflect.get(answer, 'cwd');
  const path: unknown = Reflect.get(answer, 'path');
  const macs: unknown = Reflect.get(answer, 'macs');
  const entries = typeof macs === 'object' && macs !== null ? Object.entries(macs) : [];
  return {
    cwd: typeof cwd === 'string' ? cwd : null,
    path: typeof path === 'string' ? path : null,
    macs: Object.fromEntries(entries.map(([name, mac]) => [name, String(mac)])),
  };
}
