/** What a command has used of the rules with limits: bytes that it sent, and connections. */
import { Transform } from 'node:stream';
import type { EgressDecider } from '../network/egress-rules.ts';

/** A rule is used up; the message is the rule of the record. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
}

export class UsageLimits {
  readonly #decider: EgressDecider;
  readonly #sent = new Map<string, number>();
  readonly #connections = new Map<string, number>();

  constructor(decider: EgressDecider) {
    this.#decider = decider;
  }

  hasUploadLimit(name: string, port: number): boolean {
    return this.#decider.limitsOf(name, port).some(({ uploadBytesMax: most }) => most !== null);
  }

  /** @throws LimitReached */
  takeConnection(name: string, port: number): void {
    for (const { text, connectionsMax: most } of this.#decider.limitsOf(name, port)) {
      if (most === null) continue;
      const used = (this.#connections.get(text) ?? 0) + 1;
      if (used > most) throw new LimitReached(`connections of ${text}`);
      this.#connections.set(text, used);
    }
  }

  /** @throws LimitReached: none of the bytes may go on */
  takeUpload(name: string, port: number, bytes: number): void {
    for (const { text, uploadBytesMax: most } of this.#decider.limitsOf(name, port)) {
      if (most === null) continue;
      const used = (this.#sent.get(text) ?? 0) + bytes;
      if (used > most) throw new LimitReached(`upload of ${text}`);
      this.#sent.set(text, used);
    }
  }
}

/** Passes bytes on that `take` lets pass: what that throws is its error. */
export function meteredStream(take: (bytes: number) => void): Transform {
  return new Transform({
    transform: (bytes: Buffer, _, done) => {
      try {
        take(bytes.length);
        done(null, bytes);
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
}
