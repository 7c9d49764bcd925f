/** Where contents are kept by hash. */
export interface ContentStore {
  /** Bytes of the largest content that is kept. */
  readonly fileBytesMax: number;
  has(sha256: string): boolean;
  /** Keeps bytes and answers their SHA-256; on disk after the next `sync`. */
  put(bytes: Uint8Array): string;
  /**
   * Reads an open regular file from its start to its end and keeps it, unless it is too large.
   * Other work goes on meanwhile.
   */
  putFile(fd: number): Promise<{
    readonly sha256: string;
    readonly size: number;
    readonly kept: boolean;
  }>;
  /**
   * `null` where it is not kept.
   *
   * @throws TrlError `INTERNAL_ERROR` where what is kept is damaged
   */
  read(sha256: string): Promise<Buffer | null>;
}
