/**
 * What a command has set on the terminal, so that it can be put back: by the sequences that reached
 * the terminal, in one text that xterm, tmux, VTE and kitty take, each leaving out what it does not
 * know. Nothing of it clears a screen, and it leaves alone what the command did not touch.
 *
 * Sequences as in xterm's ctlseqs; the keyboard's as in kitty's "comprehensive keyboard handling".
 */

/** Private modes that are on when a program starts; those of the other list are off. */
const onModes: ReadonlySet<string> = new Set(['7', '8', '25']);
/**
 * Keys (1 66 67 1034–1043), display (5 6 45 69 2026), mouse (9 1000–1007 1015 1016), focus (1004),
 * paste (2004), reports (2031 2048). Without 3, which clears the screen, and 1048, which moves.
 */
const offModes: ReadonlySet<string> = new Set(
  (
    '1 5 6 9 45 66 67 69 1000 1001 1002 1003 1004 1005 1006 1007 1015 1016 ' +
    '1034 1035 1036 1039 1042 1043 2004 2026 2031 2048'
  ).split(' '),
);
const screens: ReadonlySet<string> = new Set(['47', '1047', '1049']);
/** A program that pushes without end has its own are put back so often, and no more. */
const stackMax = 64;

const privateModes = /^\?(?<modes>[\d;]*)(?<final>[hl])$/;
const plainModes = /^(?<modes>[\d;]*)(?<final>[hl])$/;
const keyboard = /^(?<kind>[<>=])(?<number>\d{0,9})(?:;\d*)?u$/;
const titles = /^2(?<kind>[23])(?:;(?<which>[012]))?(?:;\d*)?t$/;
/** Colours that a program sets by OSC, by the OSC that puts each back. */
const colours: ReadonlyMap<string, string> = new Map(
  ['4', '10', '11', '12', '13', '14', '17', '19'].map((one) => [one, `1${one.padStart(2, '0')}`]),
);

interface Keyboard {
  pushed: number;
  isSet: boolean;
}

export class TerminalModes {
  /** Private modes by whether they are set now. */
  readonly #modes = new Map<string, boolean>();
  readonly #plain = new Set<string>();
  /** Stacks of titles: how many were pushed, by which. */
  readonly #titles = new Map<string, number>();
  readonly #colours = new Set<string>();
  /** The alternate screen has a keyboard of its own. */
  #keyboards: { main: Keyboard; other: Keyboard } = fresh();
  #screen: string | null = null;
  #hasStyle = false;
  #hasLink = false;
  #hasRegion = false;
  #hasTabs = false;
  #hasCharacters = false;
  #hasShape = false;
  #hasKeypad = false;
  #hasKeys = false;

  /** SO: another character set. */
  shifted(): void {
    this.#hasCharacters = true;
  }

  /** `sequence` is what follows ESC. */
  escape(sequence: string): void {
    if (sequence === 'c') this.#forget();
    if (sequence === '=') this.#hasKeypad = true;
    if (sequence === '>') this.#hasKeypad = false;
    if (sequence === 'H') this.#hasTabs = true;
    if (/^[()*+\-./no|}~]/.test(sequence)) this.#hasCharacters = true;
  }

  /** `sequence` is what follows the introducer, without the terminator. */
  osc(sequence: string): void {
    const link = /^8;[^;]*;(?<target>.*)$/s.exec(sequence);
    if (link !== null) this.#hasLink = link.groups?.['target'] !== '';
    const back = colours.get(/^\d+(?=;)/.exec(sequence)?.[0] ?? '');
    if (back !== undefined) this.#colours.add(back);
  }

  /** `sequence` is what follows the introducer. */
  csi(sequence: string): void {
    const own = privateModes.exec(sequence)?.groups;
    for (const mode of own?.['modes']?.split(';') ?? []) this.#mode(mode, own?.['final'] === 'h');
    const plain = plainModes.exec(sequence)?.groups;
    for (const mode of plain?.['modes']?.split(';') ?? []) {
      if (plain?.['final'] === 'l') this.#plain.delete(mode);
      else if (mode === '4' || mode === '20') this.#plain.add(mode);
    }
    if (/^[\d;:]*m$/.test(sequence)) this.#hasStyle = !/^0*m$/.test(sequence);
    if (/^[\d;]*[rs]$/.test(sequence) && sequence !== 's') this.#hasRegion = true;
    if (/^\d*g$|^\?5W$/.test(sequence)) this.#hasTabs = true;
    if (/^\d* q$/.test(sequence)) this.#hasShape = true;
    if (/^>4(?:;\d*)?m$/.test(sequence)) this.#hasKeys = true;
    this.#keyboard(sequence);
    this.#title(sequence);
  }

  /** What puts the terminal back; empty where nothing was set. `columns`: how wide it is. */
  reset(columns: number): string {
    const main = this.#keyboards.main;
    const text = [
      ...(this.#modes.get('2026') === true ? ['\x1b[?2026l'] : []),
      // A screen's own keyboard is put back on that screen.
      ...keyboardReset(this.#keyboards.other),
      ...(this.#screen === null ? [] : [`\x1b[?${this.#screen}l`]),
      ...keyboardReset(main),
      ...(this.#hasKeys ? ['\x1b[>4m'] : []),
      // A region moves the cursor where it is set; DECSC and DECRC bring it back.
      ...(this.#hasRegion ? ['\x1b7\x1b[r\x1b8'] : []),
      ...(this.#hasTabs ? [`\x1b7\r\x1b[3g${'\x1b[8C\x1bH'.repeat(tabs(columns))}\x1b8`] : []),
      ...this.#modeResets(),
      ...Array.from(this.#plain, (mode) => `\x1b[${mode}l`),
      ...(this.#hasKeypad ? ['\x1b>'] : []),
      ...(this.#hasShape ? ['\x1b[0 q'] : []),
      ...(this.#hasCharacters ? ['\x1b(B\x1b)B\x1b*B\x1b+B\x0f'] : []),
      ...Array.from(this.#colours, (number) => `\x1b]${number}\x1b\\`),
      ...Array.from(this.#titles, ([which, count]) => `\x1b[23${which}t`.repeat(count)),
      ...(this.#hasLink ? ['\x1b]8;;\x1b\\'] : []),
      ...(this.#hasStyle || this.#hasKeys ? ['\x1b[0m'] : []),
    ].join('');
    this.#forget();
    return text;
  }

  #modeResets(): string[] {
    const set = [...this.#modes].filter(([mode, isSet]) => isSet !== onModes.has(mode));
    return set
      .filter(([mode]) => mode !== '2026')
      .map(([mode, isSet]) => {
        const back = `\x1b[?${mode}${isSet ? 'l' : 'h'}`;
        // It moves the cursor home when it ends: then behind the last line, over nothing.
        return mode === '6' ? `${back}\x1b[9999B\r\n` : back;
      });
  }

  #mode(mode: string, isSet: boolean): void {
    // How the cursor blinks comes back with its shape.
    if (mode === '12') this.#hasShape = true;
    if (screens.has(mode)) this.#screen = isSet ? mode : null;
    if (onModes.has(mode) || offModes.has(mode)) this.#modes.set(mode, isSet);
  }

  #keyboard(sequence: string): void {
    const { kind, number } = keyboard.exec(sequence)?.groups ?? {};
    if (kind === undefined) return;
    const own = this.#screen === null ? this.#keyboards.main : this.#keyboards.other;
    if (kind === '=') own.isSet = Number(number) !== 0;
    // What was there before the command is not the command's to take away.
    else if (kind === '>') own.pushed = Math.min(stackMax, own.pushed + 1);
    else own.pushed = Math.max(0, own.pushed - Math.max(1, Number(number)));
  }

  #title(sequence: string): void {
    const { kind, which = '0' } = titles.exec(sequence)?.groups ?? {};
    if (kind === undefined) return;
    const name = `;${which}`;
    const count = (this.#titles.get(name) ?? 0) + (kind === '2' ? 1 : -1);
    if (count <= 0) this.#titles.delete(name);
    else this.#titles.set(name, Math.min(stackMax, count));
  }

  #forget(): void {
    this.#modes.clear();
    this.#plain.clear();
    this.#titles.clear();
    this.#colours.clear();
    this.#keyboards = fresh();
    this.#screen = null;
    this.#hasStyle = false;
    this.#hasLink = false;
    this.#hasRegion = false;
    this.#hasTabs = false;
    this.#hasCharacters = false;
    this.#hasShape = false;
    this.#hasKeypad = false;
    this.#hasKeys = false;
  }
}

const fresh = () => ({
  main: { pushed: 0, isSet: false },
  other: { pushed: 0, isSet: false },
});

function keyboardReset({ pushed, isSet }: Keyboard): string[] {
  return [...(pushed > 0 ? [`\x1b[<${pushed}u`] : []), ...(isSet ? ['\x1b[=0u'] : [])];
}

/** Stops behind the first column. */
const tabs = (columns: number): number => Math.max(0, Math.ceil(Math.min(columns, 4_096) / 8) - 1);
