/** One session of a daemon: where commands run, and what persists from one to the next. */
import type { ExecId, SessionId } from '../command.ts';
import type { ExecParams } from '../api/exec.ts';
import type { Receipt } from '../api/receipt.ts';
import type { SessionUpdateParams, SessionView } from '../api/session.ts';
import type { Data, MethodName, Params } from '../api/methods.ts';
import { randomKey } from './bytes.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { ExecStream } from './stream.ts';
import type { StreamOptions } from './stream.ts';

/** The wire's parameters of a command, and a signal to stop waiting for it. */
export type RunOptions = Omit<ExecParams, 'session_id' | 'command'> & StreamOptions;
export type StartOptions = Omit<ExecParams, 'session_id' | 'command'>;

export class Session {
  readonly id: SessionId;
  readonly #links: ConnectionPool;

  constructor(links: ConnectionPool, id: SessionId) {
    this.#links = links;
    this.id = id;
  }

  /**
   * Runs a command to its end. A non-zero exit and a time-out (exit code 124, `timed_out`) are
   * answers. After a lost connection the command is not run twice.
   *
   * @throws TrlError if no correct receipt is available; the signal's reason on an abort.
   */
  async run(command: string, options: RunOptions = {}): Promise<Receipt> {
    const { output_bytes: outputBytes } = options;
    return this.stream(command, options).collect(outputBytes === undefined ? {} : { outputBytes });
  }

  /** Runs a command and gives its output as it comes. */
  stream(command: string, options: RunOptions = {}): ExecStream {
    const { signal, cancelOnAbort, ...rest } = options;
    const params = this.#params(command, rest);
    return new ExecStream(
      this.#links,
      { kind: 'run', params },
      {
        ...(signal === undefined ? {} : { signal }),
        ...(cancelOnAbort === undefined ? {} : { cancelOnAbort }),
      },
    );
  }

  /**
   * Starts a command that runs in parallel and outlives this client; it does not change the
   * session's state. Attach to its id for the output.
   */
  async start(command: string, options: StartOptions = {}): Promise<ExecId> {
    return (await this.#call('exec.start', this.#params(command, options))).exec_id;
  }

  async info(): Promise<SessionView> {
    return this.#call('session.info', { session_id: this.id });
  }

  async update(changes: Omit<SessionUpdateParams, 'session_id'>): Promise<SessionView> {
    return this.#call('session.update', { ...changes, session_id: this.id });
  }

  /** A new session that starts with the state of this one. */
  async fork(name?: string): Promise<Session> {
    const params = { session_id: this.id, ...(name === undefined ? {} : { name }) };
    const view = await this.#call('session.fork', params);
    return new Session(this.#links, view.session_id);
  }

  /** The directory and the names of the variables that the next command gets. */
  async state(): Promise<Data<'session.state'>> {
    return this.#call('session.state', { session_id: this.id });
  }

  /**
   * Shows a port that a server inside listens on, to a browser on the host: a person alone may.
   *
   * @throws TrlError `INVALID_PARAMS`, `PERMISSION_DENIED`
   */
  async showPort(port: number): Promise<string> {
    return (await this.#call('session.show_port', { session_id: this.id, port })).url;
  }

  /** Connections of its commands through the bridge, as they are now. */
  async connections(): Promise<Data<'session.connections'>['connections']> {
    return (await this.#call('session.connections', { session_id: this.id })).connections;
  }

  /** Ends its connections to a host, and refuses it from now on: a person alone may. */
  async blockHost(host: string): Promise<void> {
    await this.#call('session.block_host', { session_id: this.id, host });
  }

  /** Ends {@link showPort}. */
  async hidePort(port: number): Promise<void> {
    await this.#call('session.hide_port', { session_id: this.id, port });
  }

  /** Ends the session. One that runs a command is refused unless `force`. */
  async destroy(options: { readonly force?: boolean } = {}): Promise<void> {
    await this.#call('session.destroy', { session_id: this.id, ...options });
  }

  /** Destroys the session and what runs in it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.destroy({ force: true });
  }

  #params(command: string, options: StartOptions): ExecParams & { readonly exec_key: string } {
    return { exec_key: randomKey(), ...options, session_id: this.id, command };
  }

  async #call<M extends MethodName>(method: M, params: Params<M>): Promise<Data<M>> {
    const link = await this.#links.shared();
    return link.call(method, params);
  }
}
