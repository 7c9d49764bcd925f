/**
 * Says on the user's desktop that something waits for a person. It answers nothing: how is said in
 * the note. Where there is no desktop, or no program that speaks to it, nothing is said.
 */
import { spawn } from 'node:child_process';
import type { ApprovalRegistry } from '../../approval/registry.ts';
import { escapeInvisible } from '../../policy/syntax/characters.ts';
import type { SecretRequests } from '../../secrets/requests.ts';

/** Those of a system alone: what a project or a shell has on its own path is not run here. */
const programPath = '/usr/local/bin:/usr/bin:/bin';
/** Notes in a row say no more than one. */
const quietMs = 5_000;
const lineMax = 120;
const endMs = 5_000;

interface DesktopOptions {
  /** Of the runtime: where the desktop is, and `TRL_NOTIFY`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A text without secrets, known or likely. */
  readonly maskText: (text: string) => string;
}

class Desktop {
  readonly #options: DesktopOptions;
  readonly #seen = new Set<string>();
  #toldAt = -Infinity;
  #held = 0;

  /** `null`: there is none, or `TRL_NOTIFY=never`. */
  static of(options: DesktopOptions): Desktop | null {
    const { DBUS_SESSION_BUS_ADDRESS: bus = '', TRL_NOTIFY: wish } = options.env;
    return bus === '' || wish === 'never' ? null : new Desktop(options);
  }

  private constructor(options: DesktopOptions) {
    this.#options = options;
  }

  /** A pending approval or a secret request; each is shown once. */
  tell(id: string, what: { readonly title: string; readonly text: string; readonly verb: string }) {
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    const wait = this.#toldAt + quietMs - performance.now();
    if (wait > 0) {
      this.#held += 1;
      if (this.#held === 1) setTimeout(() => this.#rest(what.verb), wait).unref();
      return;
    }
    const [line = ''] = this.#options.maskText(what.text).trim().split('\n', 1);
    const short = line.length > lineMax ? `${line.slice(0, lineMax - 1)}…` : line;
    this.#say(what.title, `${escapeInvisible(short)}\n${what.verb}`);
  }

  #rest(verb: string): void {
    const held = this.#held;
    this.#held = 0;
    this.#say(`${held} more wait for you`, verb);
  }

  #say(title: string, text: string): void {
    this.#toldAt = performance.now();
    const { env } = this.#options;
    const names = ['DBUS_SESSION_BUS_ADDRESS', 'DISPLAY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR'];
    const given = names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]]));
    const child = spawn('notify-send', ['--app-name=trl', '--', title, plain(text)], {
      env: { ...Object.fromEntries(given), PATH: programPath },
      stdio: 'ignore',
      timeout: endMs,
    });
    // It is not installed, or no desktop listens.
    child.on('error', () => {});
    child.unref();
  }
}

/** Text that no server of notes reads as markup. */
const plain = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Says of each question and of each secret that somebody asks for. */
export function notifyDesktop(
  options: DesktopOptions,
  {
    approvals,
    requests,
  }: { readonly approvals: ApprovalRegistry; readonly requests: SecretRequests },
): void {
  const desktop = Desktop.of(options);
  if (desktop === null) return;
  approvals.watch(({ id, state, asked: { command } }) => {
    if (state !== 'pending') return;
    desktop.tell(id, {
      title: 'A command waits for you',
      text: command,
      verb: 'trl approvals watch',
    });
  });
  requests.watch(() => {
    for (const { name, requestedAt: askedAt } of requests.list()) {
      const what = { title: 'A secret is asked for', text: name, verb: `trl secrets set ${name}` };
      desktop.tell(`${name} ${askedAt}`, what);
    }
  });
}
