/** A program that gets something from a host. */
export interface Program {
  /** What must be there, by its name. */
  readonly needs: string;
  readonly scheme: 'http' | 'https';
  /** Prints the text of the server where it got to the base URL. */
  readonly script: (base: string) => string;
}
