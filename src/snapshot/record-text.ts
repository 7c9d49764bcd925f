/** The value of a record until it is on disk, as JSON. */
import { setImmediate } from 'node:timers/promises';

/** A value with longer lists is serialised in parts, between other work. */
const listMax = 512;
/** The estimated length of the JSON of one path. */
const entryBytes = 400;

export class RecordText {
  /** Bytes, estimated. */
  readonly size: number;
  /** JSON of a small value; `null`: it has long lists, and must not be changed. */
  readonly #json: string | null;
  readonly #value: object;

  constructor(value: object) {
    const entries = listsOf(value).reduce((sum, list) => sum + list.length, 0);
    this.#json = entries <= listMax ? JSON.stringify(value) : null;
    this.size = this.#json?.length ?? entries * entryBytes;
    this.#value = this.#json === null ? value : {};
  }

  /** A copy, as it is read later. */
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

/** Together they are `JSON.stringify` of the value. */
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
