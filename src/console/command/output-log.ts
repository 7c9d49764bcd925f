/** The page of a command's output, as text nodes. */
import type { Signal } from '@preact/signals';
import type { StyledText } from '../text/ansi.ts';

/** Limit of the page, in characters and the cost of nodes; earlier output is removed. */
const shownMax = 600_000;
const blockLines = 100;
/** A longer line continues in another block, in characters. */
const blockMax = 50_000;
/** Cost of a node besides its characters: a command may change its colour with each. */
const nodeCost = 16;

/**
 * Printed output, in blocks of whole lines: a browser lays out a block only when it is visible, so
 * that a flood costs only what is seen of it.
 */
export class OutputLog {
  readonly #box: HTMLElement;
  readonly #missing: Signal<number>;
  #block: HTMLElement | null = null;
  #lines = 0;
  #blockShown = 0;
  #shown = 0;
  readonly #costs = new WeakMap<Node, number>();

  constructor(box: HTMLElement, missing: Signal<number>) {
    this.#box = box;
    this.#missing = missing;
  }

  append(stream: 'stdout' | 'stderr', runs: readonly StyledText[]): void {
    if (runs.length === 0) return;
    const box = this.#box;
    const follows = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    for (const run of runs) this.#add(run, stream);
    this.#drop();
    if (follows) box.scrollTop = box.scrollHeight;
  }

  /** Splits the run at full blocks. */
  #add(run: StyledText, stream: 'stdout' | 'stderr'): void {
    let from = 0;
    for (let at = run.text.indexOf('\n'); at !== -1; at = run.text.indexOf('\n', at + 1)) {
      this.#lines += 1;
      if (this.#lines < blockLines) continue;
      this.#put({ ...run, text: run.text.slice(from, at + 1) }, stream);
      from = at + 1;
      this.#block = null;
    }
    if (from < run.text.length) this.#put({ ...run, text: run.text.slice(from) }, stream);
  }

  #put(run: StyledText, stream: 'stdout' | 'stderr'): void {
    if (this.#block === null) {
      this.#block = document.createElement('div');
      this.#lines = 0;
      this.#blockShown = 0;
      this.#box.append(this.#block);
    }
    this.#block.append(nodeOf(run, stream));
    this.#shown += run.text.length + nodeCost;
    this.#blockShown += run.text.length + nodeCost;
    this.#costs.set(this.#block, this.#blockShown);
    if (this.#blockShown > blockMax) this.#block = null;
  }

  /** Removes the oldest blocks, never the current one. */
  #drop(): void {
    for (let first = this.#box.firstChild; this.#shown > shownMax; first = this.#box.firstChild) {
      if (first === null || first === this.#box.lastChild) return;
      this.#shown -= this.#costs.get(first) ?? 0;
      this.#missing.value += first.textContent?.length ?? 0;
      first.remove();
    }
  }
}

function nodeOf(run: StyledText, stream: 'stdout' | 'stderr'): Node {
  const { colour, background: ground, bold, italic, underline, inverse, isEscape: escape } = run;
  const classes = [
    stream === 'stderr' ? 'stderr' : '',
    colour === null ? '' : `fg${colour}`,
    ground === null ? '' : `bg${ground}`,
    bold ? 'bold' : '',
    italic ? 'italic' : '',
    underline ? 'underline' : '',
    inverse ? 'inverse' : '',
    escape ? 'escape' : '',
  ].filter((name) => name !== '');
  const text = document.createTextNode(run.text);
  if (classes.length === 0) return text;
  const span = document.createElement('span');
  span.className = classes.join(' ');
  span.append(text);
  return span;
}
