/**
 * The transports in addition to the socket: HTTP if it is configured, and a loopback one for logins
 * only, opened when a person first requests the console. Their code is loaded on demand.
 */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TransportOptions } from './transport/listen.ts';
import type { HttpSettings } from './http/address.ts';
import { mcpMount } from './http/mcp.ts';
import type { McpMount } from './http/mcp.ts';
import type { HttpTransport } from './http/server.ts';
import type { OpenedDaemon } from './open-core.ts';

const forLogins = { host: '127.0.0.1', port: 0, tls: null, names: [], origins: [] } as const;

export class Transports {
  readonly #opened: Pick<OpenedDaemon, 'core' | 'identities' | 'auditing' | 'roots' | 'log'>;
  readonly #options: TransportOptions;
  #http: Promise<HttpTransport> | null = null;
  #mcp: McpMount | null = null;
  #isStopping = false;
  /** Whether HTTP is configured. */
  #isAsked = false;

  constructor(
    opened: Pick<OpenedDaemon, 'core' | 'identities' | 'auditing' | 'roots' | 'log'>,
    options: TransportOptions,
  ) {
    this.#opened = opened;
    this.#options = options;
    opened.core.console.serveBy(async () => {
      this.#http ??= this.#listen(forLogins, true);
      return { origin: (await this.#http).origin };
    });
  }

  /**
   * @returns the origin of the transport
   * @throws TrlError `INVALID_PARAMS` or `BACKEND_UNAVAILABLE` if the address cannot be used
   */
  async open(settings: HttpSettings): Promise<string> {
    this.#isAsked = true;
    this.#http = this.#listen(settings, false);
    return (await this.#http).origin;
  }

  /** Whether a client has a connection, or may open one. */
  get isUsed(): boolean {
    return this.#isAsked || (this.#opened.core.counts.http.http.connections ?? 0) > 0;
  }

  stop(): void {
    this.#isStopping = true;
    void this.#http?.then((transport) => transport.stop());
  }

  async close(): Promise<void> {
    const transport = await this.#http?.catch(() => null);
    await this.#mcp?.close();
    await transport?.close();
  }

  async #listen(settings: HttpSettings, loginsOnly: boolean): Promise<HttpTransport> {
    const { core, identities, auditing, roots, log } = this.#opened;
    const [{ openHttpTransport }, { metricsText }] = await Promise.all([
      import('./http/server.ts'),
      import('./http/metrics-text.ts'),
    ]);
    const transport = await openHttpTransport({
      ...this.#options,
      settings,
      identities,
      auditing,
      consoleDirectory: consoleDirectory(),
      openapi: () => this.#openapi(),
      metricsText: () => metricsText(core.metrics()),
      loginsOnly,
    });
    const [root] = roots;
    if (!loginsOnly && root !== undefined) {
      this.#mcp = mcpMount({ ...this.#options, root, keys: core.keys });
      transport.mount('/mcp', this.#mcp.mounted);
    }
    core.counts.includeHttp(() => transport.metrics());
    if (this.#isStopping) transport.stop();
    log(`HTTP on ${transport.origin}`);
    return transport;
  }

  #document: Promise<string> | null = null;

  #openapi(): Promise<string> {
    const { version } = this.#options;
    this.#document ??= import('./http/openapi.ts').then(({ createOpenapiDocument }) =>
      JSON.stringify(createOpenapiDocument(version)),
    );
    return this.#document;
  }
}

/** The built console: next to the bundle, or in the checkout's `dist`. */
function consoleDirectory(): string {
  const here = fileURLToPath(import.meta.url);
  const beside = join(dirname(here), 'console');
  return !here.endsWith('.ts') && existsSync(beside)
    ? beside
    : join(dirname(here), '../../dist/console');
}
