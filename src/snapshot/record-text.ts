/** A record's value on its way to the disk, as JSON. */
import { setImmediate } from 'node:timers/promises';

/** With a longer list in it, a value is made to text in parts, between other work. */
const listMax = 512;
/** About as long is what tells of one path. */
const entryBytes = 400;

export class RecordText {
  /** Bytes, about. */
  readonly size: number;
  /** Of a small value, as it was when it came; `null`: it has long lists, and is not changed. */
  readonly #json: string | null;
  readonly #value: object;

  constructor(value: object) {
    const entries = listsOf(value).reduce((sum, list) => sum + list.length, 0);
    this.#json = entries <= listMax ? JSON.stringify(value) : null;
    this.size = this.#json?.length ?? entries * entryBytes;
    this.#value = this.#json === null ? value : {};
  }

  /** A copy, as it will be read. */
  value(): unknown {
    return JSON.parse(this.#json ?? JSON.stringify(this.#value));
  }

  async bytes(): Promise<Buffer> {
    if (this.#json !== null) return Buffer.from(this.#json);
    const parts: Buffer[] = [];
    for (const part of jsonTextParts(this.#value)) {
      parts.push(Buffer.from(part));
      await setImmediate();
    }
    return Buffer.concat(parts);
  }
}

function listsOf(value: object): unknown[][] {
  const all: unknown[] = Object.values(value);
  return all.filter((one) => Array.isArray(one));
}

/** Together they are what `JSON.stringify` makes of the value. */
export function* jsonTextParts(value: object): Generator<string> {
  let before = '{';
  const all: [string, unknown][] = Object.entries(value);
  for (const [name, one] of all) {
    const start = `${before}${JSON.stringify(name)}:`;
    if (Array.isArray(one)) {
      yield `${start}[`;
      for (let at = 0; at < one.length; at += listMax) {
        const part = JSON.stringify(one.slice(at, at + listMax)).slice(1, -1);
        yield at === 0 ? part : `,${part}`;
      }
      yield ']';
    } else {
      const text: string | undefined = JSON.stringify(one);
      if (text === undefined) continue;
      yield `${start}${text}`;
    }
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
