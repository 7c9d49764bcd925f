/** How the demo looks: plain lines, a few of them dimmed or coloured where the terminal does. */
import { styleText } from 'node:util';
import { showDuration } from './units.ts';
import { escapeHiddenText } from './escape-text.ts';

const outputLinesMax = 6;
const columnsMax = 100;

export class DemoPrinter {
  readonly #on: boolean;

  /** With `on` false nothing is shown. */
  constructor(on: boolean) {
    this.#on = on;
    this.#line('');
    this.#line(
      `  ${this.#style('bold', 'trl')} runs what an agent asks for, and says what happened.`,
    );
  }

  title(number: number, text: string): void {
    this.#line('');
    this.#line(`  ${this.#style('bold', `${number}  ${text}`)}`);
  }

  command(text: string): void {
    this.#line(`     ${this.#style('cyan', '$')} ${escapeHiddenText(text)}`);
  }

  /** What a command printed; what is left out is counted. */
  output(text: string): void {
    const lines = text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined);
    for (const line of lines.slice(0, outputLinesMax)) {
      const shown = Array.from(escapeHiddenText(line));
      const isLong = shown.length > columnsMax;
      const cut = isLong ? [...shown.slice(0, columnsMax - 1), '…'] : shown;
      this.#line(`     ${this.#style('dim', cut.join(''))}`);
    }
    const more = lines.length - outputLinesMax;
    if (more > 0) this.#line(`     ${this.#style('dim', `… ${more} lines more`)}`);
  }

  aside(text: string): void {
    this.#line(`     ${text}`);
  }

  check(ok: boolean, text: string): void {
    const mark = ok ? this.#style('green', '✓') : this.#style('red', '✗');
    this.#line(`     ${mark} ${escapeHiddenText(text)}`);
  }

  advice(text: string): void {
    this.#line('');
    this.#line(`  ${escapeHiddenText(text)}`);
  }

  end(ok: boolean, durationMs: number, install: string): void {
    const how = ok ? 'All of it was real' : 'Not all of it was as it should be';
    this.advice(`${how}; it took ${showDuration(durationMs)}, and its files are gone.`);
    if (ok) {
      this.#line('  Give it to your agent:');
      this.#line('');
      this.#line(`     ${this.#style('cyan', install)}`);
    }
    this.#line('');
  }

  #line(text: string): void {
    if (this.#on) process.stdout.write(`${text}\n`);
  }

  #style(format: 'bold' | 'cyan' | 'dim' | 'green' | 'red', text: string): string {
    return styleText(format, text, { stream: process.stdout });
  }
}
