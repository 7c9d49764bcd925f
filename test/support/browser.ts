/** A real Chromium with a profile of its own, and pages that tell what went on in them. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import type { BrowserContext, Page } from 'playwright-core';
import type { Daemon } from './daemon.ts';

const root = path.dirname(path.dirname(import.meta.dirname));
const program = '/usr/bin/chromium';
const axeSource = path.join(root, 'node_modules/axe-core/axe.min.js');
const waitMs = 120_000;

/** Why tests with a browser cannot run here, else `false`. */
export const noBrowser: string | false = existsSync(program) ? false : `there is no ${program}`;

export class Browser implements AsyncDisposable {
  readonly #context: BrowserContext;
  readonly #profile: string;

  private constructor(context: BrowserContext, profile: string) {
    this.#context = context;
    this.#profile = profile;
  }

  /** The console is built by the launcher of who serves it. */
  static async start(viewport = { width: 1440, height: 900 }): Promise<Browser> {
    const profile = mkdtempSync(path.join(tmpdir(), 'trl-chromium-'));
    try {
      const context = await chromium.launchPersistentContext(profile, {
        executablePath: program,
        headless: true,
        chromiumSandbox: process.getuid?.() !== 0,
        viewport,
        args: [
          '--disable-gpu',
          '--disable-quic',
          '--no-first-run',
          '--disable-background-networking',
          '--disable-component-update',
          '--disable-sync',
        ],
      });
      context.setDefaultTimeout(waitMs);
      return new Browser(context, profile);
    } catch (error) {
      rmSync(profile, { recursive: true, force: true });
      throw error;
    }
  }

  async page(): Promise<Watched> {
    return Watched.over(await this.#context.newPage());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Tells each refusal of the page's policy to {@link Watched.wrong}. */
const tellViolations = `addEventListener('securitypolicyviolation', (event) => {
  console.error('violation', event.violatedDirective, event.blockedURI, event.sourceFile);
});`;

/** A page, and everything in it that should not have been. */
export class Watched {
  readonly page: Page;
  /** Violations of the page's policy, errors, dialogs, requests to other places. */
  readonly wrong: string[] = [];
  /** Messages of WebSockets as Latin-1. */
  readonly received: string[] = [];
  readonly sent: string[] = [];

  private constructor(page: Page) {
    this.page = page;
  }

  static async over(page: Page): Promise<Watched> {
    const made = new Watched(page);
    const latin1 = (payload: string | Buffer): string => Buffer.from(payload).toString('latin1');
    page.on('console', (message) => {
      if (message.type() === 'error') made.wrong.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => made.wrong.push(`error: ${String(error.stack ?? error)}`));
    page.on('dialog', (dialog) => {
      made.wrong.push(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol !== 'data:' && url.hostname !== '127.0.0.1') {
        made.wrong.push(`request: ${url.href}`);
      }
    });
    page.on('websocket', (socket) => {
      socket.on('framereceived', ({ payload }) => made.received.push(latin1(payload)));
      socket.on('framesent', ({ payload }) => made.sent.push(latin1(payload)));
    });
    await page.addInitScript(tellViolations);
    return made;
  }

  /** Waits until the page shows `text` somewhere. */
  async sees(text: string | RegExp): Promise<void> {
    await this.page.getByText(text).first().waitFor();
  }

  /** All that the page holds: its tree with attributes, values of fields, both storages. */
  async everything(): Promise<string> {
    return this.page.evaluate<string>(`[
      document.documentElement.outerHTML,
      ...[...document.querySelectorAll('input, textarea')].map((field) => field.value),
      JSON.stringify({ ...localStorage }),
      JSON.stringify({ ...sessionStorage }),
      location.href,
      document.cookie,
    ].join('\\n')`);
  }

  /** What axe-core finds wrong, one line each with where; `rules`: only these. */
  async axe(rules?: readonly string[]): Promise<string[]> {
    const isThere = await this.page.evaluate<boolean>(`typeof axe !== 'undefined'`);
    if (!isThere) await this.page.evaluate(readFileSync(axeSource, 'utf8'));
    const only = rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } };
    const options = JSON.stringify({ resultTypes: ['violations'], ...only });
    return this.page.evaluate<string[]>(`axe.run(document, ${options}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
        id + ': ' + html + ' ' + failureSummary)))`);
  }
}

/** What `trl console --no-open --json` prints of a link for one login. */
export async function consoleLink(daemon: Daemon): Promise<string> {
  const args = ['console', '--no-open', '--json', '--socket-path', daemon.socketPath];
  const { stdout } = await promisify(execFile)(path.join(root, 'trl'), args);
  const told: { readonly url: string } = JSON.parse(stdout);
  return told.url;
}
