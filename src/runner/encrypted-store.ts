/**
 * Output that memory has no room for, in an unlinked file: encrypted with a key that is in the
 * runner's memory alone, so that what is left on the disk is unreadable once it has ended.
 */
import { createCipheriv, randomBytes } from 'node:crypto';
import { MemoryFile, RingStore, type JournalStore } from './journal-stores.ts';

const blockBytes = 16;
const keyBytes = 32;

/** AES-256-CTR by journal offset: each offset is written once, under a key of this file. */
export class EncryptedStore implements JournalStore {
  readonly #key = randomBytes(keyBytes);
  readonly #ring: RingStore;

  /** @param path of a file that is not there; it is unlinked at once */
  constructor(path: string) {
    this.#ring = new RingStore(new MemoryFile(path));
  }

  grow(capacity: number): void {
    this.#ring.grow(capacity);
  }

  write(bytes: Uint8Array, offset: number): void {
    this.#ring.write(this.#crypt(bytes, offset), offset);
  }

  read(into: Uint8Array, offset: number): void {
    this.#ring.read(into, offset);
    into.set(this.#crypt(into, offset));
  }

  close(): void {
    this.#key.fill(0);
    this.#ring.close();
  }

  #crypt(bytes: Uint8Array, offset: number): Uint8Array {
    const counter = Buffer.alloc(blockBytes);
    counter.writeBigUInt64BE(BigInt(Math.floor(offset / blockBytes)), blockBytes / 2);
    const cipher = createCipheriv('aes-256-ctr', this.#key, counter);
    cipher.update(Buffer.alloc(offset % blockBytes));
    return cipher.update(bytes);
  }
}
