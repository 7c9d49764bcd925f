/** Checks signatures of heads beside the rest of the work: on the threads of the runtime. */
import { verify, type KeyObject } from 'node:crypto';
import { findOwnSignature, rawEd25519Key, type ParsedNote } from './signed-note.ts';

/** That are checked at once. */
const inFlightMax = 64;
/** A few are checked at once faster than others can be asked to. */
const ownFirst = 16;

export interface SignedHeadLocation {
  readonly note: string;
  readonly segment: string;
  readonly offset: number;
  readonly size: number;
}

export class HeadSignatures {
  readonly #publicKey: KeyObject;
  readonly #raw: Buffer;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #bad: SignedHeadLocation[] = [];
  #newest: SignedHeadLocation | null = null;
  #count = 0;

  constructor(publicKey: KeyObject) {
    this.#publicKey = publicKey;
    this.#raw = rawEd25519Key(publicKey);
  }

  /** Of those that were checked, complete after {@link waitForAll}. */
  get bad(): readonly SignedHeadLocation[] {
    return this.#bad;
  }

  /** The good one over the most events. */
  get newest(): SignedHeadLocation | null {
    return this.#newest;
  }

  get isFull(): boolean {
    return this.#inFlight.size >= inFlightMax;
  }

  add(read: ParsedNote, place: SignedHeadLocation): void {
    const signature = findOwnSignature(read, this.#raw);
    this.#count += 1;
    if (signature === null || read.signatures.length !== 1) {
      this.#bad.push(place);
    } else if (this.#count <= ownFirst) {
      this.#told(place, verify(null, read.signed, this.#publicKey, signature));
    } else {
      const check = this.#check(read.signed, signature).then((isGood) => {
        this.#inFlight.delete(check);
        return this.#told(place, isGood);
      });
      this.#inFlight.add(check);
    }
  }

  /** Answers when there is room for more. */
  async waitForRoom(): Promise<void> {
    await Promise.race(this.#inFlight);
  }

  async waitForAll(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  #told(place: SignedHeadLocation, isGood: boolean): void {
    if (!isGood) this.#bad.push(place);
    else if (place.size >= (this.#newest?.size ?? 0)) this.#newest = place;
  }

  #check(signed: Buffer, signature: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      verify(null, signed, this.#publicKey, signature, (error, isGood) => {
        resolve(error === null && isGood);
      });
    });
  }
}
