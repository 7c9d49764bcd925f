/** Keeps replies in the order of their requests, whatever order they are ready in. */

/** Sends a reply; `sent` is called once it has left. `sent` must not throw. */
export type Reply = (json: string, sent: () => void) => void;

interface Slot {
  reply: { readonly json: string; readonly sent: () => void } | null;
}

export class Replies {
  readonly #send: (json: string) => void;
  readonly #slots: Slot[] = [];

  constructor(send: (json: string) => void) {
    this.#send = send;
  }

  /**
   * Takes the next place in the order. Call what it returns once: the reply leaves when every
   * reply before it has.
   */
  reserve(): Reply {
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
