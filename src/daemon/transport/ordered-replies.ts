/** Sends replies in the order of their requests, even if later ones are ready first. */

import type { RedactedText } from '../../redaction/redacted-text.ts';

/** Sends a reply and then calls `sent`, which must not throw. */
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
   * Reserves the next position in the order. Call the returned function once: it sends the reply
   * after all earlier replies.
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
