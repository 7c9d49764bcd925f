/** Keeps replies in the order of their requests, whatever order they are ready in. */

import type { RedactedText } from '../../redaction/redacted-text.ts';

/** Sends a reply; `sent` is called once it has left. `sent` must not throw. */
export type SendReply = (json: RedactedText, sent: () => void) => void;

interface Slot {
  reply: { readonly json: RedactedText; readonly sent: () => void } | null;
}

export class OrderedReplies {
  readonly #send: (json: RedactedText) => void;
  readonly #slots: Slot[] = [];

  constructor(send: (json: RedactedText) => void) {
    this.#send = send;
  }

  /**
   * Takes the next place in the order. Call what it returns once: the reply leaves when every
   * reply before it has.
   */
  reserve(): SendReply {
    const slot: Slot = { reply: null };
    this.#slots.push(slot);
    return (json, sent) => {
      slot.reply = { json, sent };
      this.#flush();
    };
  }

  #flush(): void {
    for (let reply = this.#slots[0]?.reply; reply != null; reply = this.#slots[0]?.reply) {
      this.#slots.shift();
      this.#send(reply.json);
      reply.sent();
    }
  }
}
