// A command leaves the terminal as it was, and one that has none draws on its own lines alone.
// Judged by a terminal: xterm.js.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { TerminalFilter } from '../src/cli/terminal-filter.ts';
import { TerminalModes } from '../src/cli/terminal-modes.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, surroundings, type Daemon } from './support/daemon.ts';
import { runnerPid } from './support/processes.ts';
import { person, whyNoTerminal, type Person } from './support/pty.ts';

const esc = '\x1b';
const columns = 40;

/** What is asked of it here: its own types are those of a browser. */
interface Terminal {
  readonly modes: Readonly<Record<string, unknown>>;
  readonly buffer: { readonly active: Screen & { readonly type: string }; readonly normal: Screen };
  write(text: string | Uint8Array, done: () => void): void;
  dispose(): void;
}
interface Screen {
  readonly cursorY: number;
  readonly baseY: number;
  getLine(at: number): Line | undefined;
}
interface Line {
  translateToString(isTrimmed: boolean): string;
  getCell(at: number): { isFgDefault(): boolean; isBold(): number } | undefined;
}

/** Its program asks for a window, and draws nothing before it has one. */
Object.assign(globalThis, { self: globalThis, window: globalThis });
const xterm: { readonly Terminal: new (options: object) => Terminal } = createRequire(
  import.meta.url,
)('@xterm/xterm');

const newTerminal = (): Terminal =>
  new xterm.Terminal({ cols: columns, rows: 10, scrollback: 1_000, allowProposedApi: true });

const write = (terminal: Terminal, text: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => terminal.write(text, resolve));

const line = (terminal: Terminal, at: number): string =>
  terminal.buffer.normal.getLine(at)?.translateToString(true) ?? '';

const before_ = ['$ make', 'what was there', 'before', '$ trl run'];

/** Each sets something, or moves. */
const setting = [
  `${esc}[?1000h`,
  `${esc}[?1002;1006h`,
  `${esc}[?1003h`,
  `${esc}[?1049h`,
  `${esc}[?1049l`,
  `${esc}[?47h`,
  `${esc}[?25l`,
  `${esc}[?7l`,
  `${esc}[?1h${esc}=`,
  `${esc}[?2004h`,
  `${esc}[?2026h`,
  `${esc}[4h`,
  `${esc}[2;4r`,
  `${esc}[4 q`,
  `${esc}(0`,
  '\x0e',
  `${esc}[31;1m`,
  `${esc}[3g`,
  'text',
  '\r\n',
];

test('what a command at its terminal set is put back, and nothing is cleared', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...setting), { maxLength: 10 }), async (parts) => {
      const [terminal, bare] = [newTerminal(), newTerminal()];
      await write(terminal, before_.join('\r\n'));
      const modes = new TerminalModes();
      const filter = new TerminalFilter('interactive', modes);
      for (const part of parts) await write(terminal, filter.push(Buffer.from(part)));
      const lines = (): string[] => before_.map((_, row) => line(terminal, row));
      const drawn = lines();
      await write(terminal, modes.reset(columns));
      assert.deepEqual({ ...terminal.modes }, { ...bare.modes });
      assert.equal(terminal.buffer.active.type, 'normal');
      assert.deepEqual(lines(), drawn);
      // Text that comes next stands as it would have: its letters, its colour, its tabs.
      await write(terminal, `\r\n${esc}[2Klqx\ty`);
      const { cursorY, baseY } = terminal.buffer.active;
      assert.equal(line(terminal, baseY + cursorY), 'lqx     y');
      const cell = terminal.buffer.active.getLine(baseY + cursorY)?.getCell(0);
      assert.deepEqual([cell?.isFgDefault(), cell?.isBold()], [true, 0]);
      for (const one of [terminal, bare]) one.dispose();
    }),
    { numRuns: 150 },
  );
});

test('what an unfiltered command set is put back by the protocols of its time', () => {
  const modes = new TerminalModes();
  const filter = new TerminalFilter('raw', modes);
  const set = [
    `${esc}[>1u`,
    `${esc}[?1049h${esc}[>3u${esc}[=5;1u`,
    `${esc}[>4;2m`,
    `${esc}[22;0t${esc}]0;mine\x07`,
    `${esc}]11;#000000${esc}\\`,
    `${esc}[?1004;1015;1016h`,
  ];
  filter.push(Buffer.from(set.join('')));
  const back = modes.reset(columns);
  for (const wanted of [
    // The other screen's keyboard, that screen, then the keyboard of this one.
    `${esc}[<1u${esc}[=0u${esc}[?1049l${esc}[<1u`,
    `${esc}[>4m`,
    `${esc}[23;0t`,
    `${esc}]111${esc}\\`,
    `${esc}[?1004l`,
    `${esc}[?1015l`,
    `${esc}[?1016l`,
  ]) {
    assert.ok(back.includes(wanted), JSON.stringify([wanted, back]));
  }
  assert.equal(modes.reset(columns), '', 'once');
  filter.push(Buffer.from(`plain text, and ${esc}[31mred${esc}[0m`));
  assert.equal(modes.reset(columns), '', 'what was not touched is left alone');
});

const pieces = [
  'text',
  '\r',
  '\n',
  '\r\n',
  '\t',
  '\b',
  '\x0c',
  '\x0e',
  `${esc}[A`,
  `${esc}[3A`,
  `${esc}[9999A`,
  `${esc}[2B`,
  `${esc}[5F`,
  `${esc}[K`,
  `${esc}[2K`,
  `${esc}[J`,
  `${esc}[2J`,
  `${esc}[3J`,
  `${esc}[H`,
  `${esc}[1;1f`,
  `${esc}[2d`,
  `${esc}[99S`,
  `${esc}[99T`,
  `${esc}[L`,
  `${esc}[M`,
  `${esc}M`,
  `${esc}c`,
  `${esc}7`,
  `${esc}8`,
  `${esc}[u`,
  `${esc}[1;2r`,
  `${esc}[?1049h`,
  `${esc}[?25l`,
  `${esc}[?6h`,
  `${esc}[4h`,
  `x${esc}[1000000b`,
  `${esc}[31m`,
  `${esc}(0`,
  `${esc}[3g`,
  `${esc}[!p`,
  `${esc}#8`,
];

test('a command without a terminal draws on the lines that it has written', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...pieces), { maxLength: 25 }), async (parts) => {
      const [terminal, bare] = [newTerminal(), newTerminal()];
      await write(terminal, `${before_.join('\r\n')}\r\n`);
      const modes = new TerminalModes();
      const filter = new TerminalFilter('text', modes);
      for (const part of parts) {
        // As a terminal's driver shows it.
        const text = Buffer.from(filter.push(Buffer.from(part))).toString();
        await write(terminal, text.replaceAll(/(?<!\r)\n/g, '\r\n'));
      }
      await write(terminal, modes.reset(columns));
      assert.deepEqual(
        before_.map((_, at) => line(terminal, at)),
        before_,
      );
      assert.deepEqual({ ...terminal.modes }, { ...bare.modes });
      assert.equal(terminal.buffer.active.type, 'normal');
      for (const one of [terminal, bare]) one.dispose();
    }),
    { numRuns: 300 },
  );
});

test('what progress needs passes', () => {
  const first = `one\ntwo\n${esc}[2A${esc}[2K\rone: 50%\n${esc}[1Gtwo: 20%${esc}[K\n`;
  const bars = `${first}${esc}[1A${esc}[J`;
  assert.equal(Buffer.from(new TerminalFilter('text').push(Buffer.from(bars))).toString(), bars);
});

const skip = whyNoBox === false ? whyNoTerminal : whyNoBox;
const wanted = ['1049h', '1003h', '1006h', '25l', '2004h'].map((mode) => `\\033[?${mode}`);
const sets = `printf '${wanted.join('')}\\033=ready'`;
const puts = ['?1049l', '?1003l', '?1006l', '?25h', '?2004l'].map((mode) => `${esc}[${mode}`);

describe('at a terminal', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startRuntime();
  });
  after(() => daemon?.stop());

  const run = (own: Daemon, command: string): Person => {
    const args = ['run', '--socket-path', own.socketPath, '--cwd', own.root, '--pty'];
    return person([...args, command], surroundings(own.home));
  };

  function check(at: Person): void {
    const behind = at.raw().slice(at.raw().indexOf('ready'));
    for (const wanted of [...puts, `${esc}>`]) {
      assert.ok(behind.includes(wanted), JSON.stringify([wanted, behind]));
    }
  }

  test('it is put back when the command ends', async () => {
    using at = run(daemon, `${sets}; exit 3`);
    assert.equal(await at.left(), 3);
    check(at);
  });

  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    test(`and when the client is ended by ${signal}`, async () => {
      using at = run(daemon, `trap '' HUP INT; ${sets}; exec sleep 600`);
      await at.sees('ready');
      process.kill(at.pid, signal);
      await at.left();
      check(at);
    });
  }

  test('and when what it shows is lost', async () => {
    using at = run(daemon, `${sets}; exec sleep 600`);
    await at.sees('ready');
    const runner = runnerPid(daemon);
    assert.ok(runner !== null);
    process.kill(runner, 'SIGKILL');
    await at.left();
    check(at);
  });
});
