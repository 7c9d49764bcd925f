/** The connection to the runtime: one client, and the feed that fills the store. */
import { batch, signal } from '@preact/signals';
import { connectByUrl } from '../../client/connect.ts';
import { isTrlError } from '../../client/index.ts';
import { sleep } from '../../client/wait.ts';
import type { Client } from '../../client/index.ts';
import { signOut } from './login.ts';
import type { ConsoleLogin } from './login.ts';
import type { FeedEvent } from '../../api/system.ts';
import { approvals, resetStore, applyFeedEvents } from './store.ts';

export type FeedState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  | { readonly kind: 'lost'; readonly why: string };

export const feedState = signal<FeedState>({ kind: 'connecting' });
/** The client that views use; `null`: signed out, or the runtime was not reached yet. */
export const currentClient = signal<Client | null>(null);

const firstRetryMs = 500;
const lastRetryMs = 10_000;
/** How long events are collected, in `ms`. */
const groupMs = 30;

/** Keeps the store filled until `signal` aborts. Never rejects. */
export async function followFeed(login: ConsoleLogin, signal: AbortSignal): Promise<void> {
  // The previous login may have seen more.
  resetStore();
  approvals.value = new Map();
  let retryMs = firstRetryMs;
  while (!signal.aborted) {
    try {
      await using connected = await connectByUrl({
        url: location.origin,
        token: login.token,
        signal,
      });
      currentClient.value = connected;
      const taker = new Taker();
      for await (const event of connected.watch(signal)) {
        retryMs = firstRetryMs;
        taker.push(event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isTrlError(error, 'AUTH_FAILED')) {
        signOut('You are signed out: the login has ended or was revoked.');
        return;
      }
      feedState.value = { kind: 'lost', why: describeError(error) };
    } finally {
      currentClient.value = null;
    }
    await sleep(retryMs, signal).catch(() => {});
    retryMs = Math.min(retryMs * 2, lastRetryMs);
  }
}

/** Passes events to the store in groups: a view is drawn once for all of a group. */
class Taker {
  #events: FeedEvent[] = [];
  #isFirst = true;

  push(event: FeedEvent): void {
    this.#events.push(event);
    if (this.#events.length === 1) setTimeout(() => this.#give(), groupMs);
  }

  #give(): void {
    const events = this.#events;
    this.#events = [];
    batch(() => {
      if (this.#isFirst) resetStore();
      this.#isFirst = false;
      feedState.value = { kind: 'live' };
      applyFeedEvents(events);
    });
  }
}

/** One sentence for a person. */
export function describeError(error: unknown): string {
  if (isTrlError(error)) return `${error.message} (${error.code})`;
  return error instanceof Error ? error.message : 'It failed';
}
