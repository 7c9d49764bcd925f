/** `trl console`: a link that opens the web console once, for the person at this machine. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '../client/index.ts';
import { tokensFile } from '../identity/tokens.ts';
import type { CliArguments } from './args.ts';
import { Interrupts, cancellable, readPassphraseFromStdin, withPersonProof } from './interrupts.ts';
import { printJson, printLines, printMessage } from './print.ts';
import { connectRuntime } from './runtime-connection.ts';

/** A browser that runs has the page by then, in ms; one that must start has it a little later. */
const openedMs = 3_000;

export async function runConsole(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  return await cancellable(interrupts, 'no link was made', async () => {
    const { url, expires_at: expires } = await login(client, args, signal);
    if (args.has('json')) printJson({ url, expires_at: expires });
    else printLines([url]);
    printMessage(
      `the link is single-use and valid until ${expires}; anyone who has it can approve`,
    );
    const program = args.has('json') || args.has('no-open') ? null : browserOpener();
    if (program !== null) await openIn(program, url);
    return 0;
  });
}

async function login(client: Client, args: CliArguments, signal: AbortSignal) {
  if (args.has('passphrase-stdin')) {
    const passphrase = await readPassphraseFromStdin('console');
    return client.call('console.login', { passphrase });
  }
  return withPersonProof(client, signal, (proof) => client.call('console.login', proof));
}

/** `null`: there is no screen to open a browser on. */
function browserOpener(): string | null {
  const { DISPLAY: x11, WAYLAND_DISPLAY: wayland, SSH_CONNECTION: ssh } = process.env;
  if (process.platform === 'darwin') return ssh ? null : 'open';
  return x11 || wayland ? 'xdg-open' : null;
}

/**
 * Every user of the host can read the arguments of a process: the browser is given a page of this
 * user's own, which leads to the link.
 */
async function openIn(program: string, url: string): Promise<void> {
  const place = path.dirname(tokensFile(process.env, homedir()));
  const page = path.join(place, `console-${randomBytes(8).toString('hex')}.html`);
  const leads = `<meta http-equiv="refresh" content="0;url=${url}">`;
  const html = `<!doctype html>${leads}<title>TRL</title>`;
  writeFileSync(page, html, { mode: 0o600, flag: 'wx' });
  try {
    const child = spawn(program, [pathToFileURL(page).href], { stdio: 'ignore', detached: true });
    child.unref();
    const opened = await new Promise<boolean>((resolve) => {
      child.once('error', () => resolve(false));
      setTimeout(() => resolve(true), openedMs);
    });
    if (!opened) printMessage(`no browser was opened: ${program} is not there`);
  } finally {
    rmSync(page, { force: true });
  }
}
