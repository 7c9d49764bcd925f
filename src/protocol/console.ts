/** The wire of `console.login`: a link for the person's own browser. On the socket alone. */
export interface ConsoleLoginParams {
  /** Proves a person, where one is enrolled. */
  readonly passphrase?: string;
}
export interface ConsoleAnswers {
  readonly 'console.login': {
    /** `http://127.0.0.1:PORT/#login=CODE`: good once, for whoever has it. */
    readonly url: string;
    readonly expires_at: string;
  };
}
