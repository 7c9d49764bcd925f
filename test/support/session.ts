/** One session on a connection of its own, so that sessions run side by side. */
import { raw, type Json, type RawClient } from './daemon.ts';
import { eventually } from './processes.ts';

export interface TestSession extends AsyncDisposable {
  readonly id: string;
  readonly client: RawClient;
  /** The whole answer to `exec.run`, an error or not. */
  ask(command: string, more?: object): Promise<Json>;
  /** The receipt; a time-out has one, any other failure throws. */
  run(command: string, more?: object): Promise<Json>;
  /** `exec.start`; answers the execution's id. */
  start(command: string, more?: object): Promise<string>;
  destroy(): Promise<void>;
}

/**
 * Runs a command that reads a line where it is to wait for `until`; then gives it that line.
 *
 * @returns its receipt
 */
export async function runUntil(
  session: TestSession,
  socketPath: string,
  command: string,
  until: () => boolean,
): Promise<Json> {
  const running = session.run(command, { stdin_open: true });
  using other = await raw(socketPath);
  await eventually('what it waits for', until);
  const { data } = await other.ask('exec.list', { session_id: session.id });
  const found = data.execs.find(({ state }: Json) => state === 'running');
  await other.ask('exec.write', { exec_id: found?.exec_id, data: '\n', eof: true });
  return await running;
}

/** @throws Error when the session is refused */
export async function openSession(socketPath: string, params: object = {}): Promise<TestSession> {
  const client = await raw(socketPath);
  const made = await client.ask('session.create', { shell: '/bin/bash', ...params });
  if (made.ok !== true) {
    client.drop();
    throw new Error(`no session: ${JSON.stringify(made)}`);
  }
  const id: string = made.data.session_id;
  let open = true;
  const ask = (command: string, more: object = {}): Promise<Json> =>
    client.ask('exec.run', { session_id: id, command, ...more });
  const destroy = async (): Promise<void> => {
    if (!open) return;
    open = false;
    const answer = await client.ask('session.destroy', { session_id: id, force: true });
    client.drop();
    if (answer.ok !== true) throw new Error(`not destroyed: ${JSON.stringify(answer)}`);
  };
  return {
    id,
    client,
    ask,
    run: async (command, more) => {
      const answer = await ask(command, more);
      const { data } = answer;
      if (data === undefined) throw new Error(`no receipt: ${JSON.stringify(answer)}`);
      return data;
    },
    start: async (command, more = {}) => {
      const answer = await client.ask('exec.start', { session_id: id, command, ...more });
      if (answer.ok !== true) throw new Error(`not started: ${JSON.stringify(answer)}`);
      return answer.data.exec_id;
    },
    destroy,
    // What failed before it is what matters; `destroy` is for those who look.
    [Symbol.asyncDispose]: () => destroy().catch(() => client.drop()),
  };
}
