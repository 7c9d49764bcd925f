/** A command with a terminal: watch it, take it over, release it. xterm is loaded on demand. */
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Client, ExecView } from '../../client/index.ts';
import type { TerminalScreen } from '../terminal/screen.ts';
import { announce } from '../live/alert.ts';
import { currentClient, describeError } from '../live/connection.ts';
import { ActionError, useAction } from '../components/action.tsx';

type ExecId = ExecView['exec_id'];

interface Lease {
  readonly id: string;
  /** `returning`: typing has ended, and the runtime has not confirmed the release yet. */
  readonly state: 'held' | 'returning';
}

/** How long a lease is valid without renewal, and how often it is renewed, in `ms`. */
const leaseMs = 30_000;
const renewMs = 10_000;

export function TerminalPane({ exec }: { readonly exec: ExecView }) {
  const box = useRef<HTMLDivElement>(null);
  const screen = useRef<TerminalScreen | null>(null);
  const lease = useSignal<Lease | null>(null);
  const problem = useSignal<string | null>(null);
  const asks = currentClient.value;
  const id = exec.exec_id;
  useEffect(() => {
    if (asks === null || box.current === null) return undefined;
    const stop = new AbortController();
    watch(asks, id, { box: box.current, screen, lease, signal: stop.signal }).catch(
      (error: unknown) => {
        if (!stop.signal.aborted) problem.value = describeError(error);
      },
    );
    return () => {
      stop.abort(new DOMException('The view was left', 'AbortError'));
      release(asks, id, lease);
    };
  }, [id, asks]);
  const isHeld = lease.value?.state === 'held' && exec.state === 'running';
  return (
    <section class={isHeld ? 'terminal held' : 'terminal'} aria-label="Terminal">
      <header>
        <p>{exec.state === 'running' ? standing(lease.value) : 'It has ended.'}</p>
        {exec.state === 'running' && (
          <TakeOver id={id} lease={lease} focus={() => screen.current?.focus()} />
        )}
      </header>
      <div class="screen">
        <div ref={box} />
      </div>
      <ActionError of={problem.value} />
    </section>
  );
}

function standing(lease: Lease | null): string {
  if (lease === null) return 'You watch.';
  return lease.state === 'held' ? 'You type here. The agent cannot.' : 'Releasing…';
}

interface TakeOverProps {
  readonly id: ExecId;
  readonly lease: Signal<Lease | null>;
  readonly focus: () => void;
}

function TakeOver({ id, lease, focus }: TakeOverProps) {
  const { busy, problem, perform: act } = useAction();
  const asks = currentClient.value;
  const take = (): Promise<void> =>
    act(async () => {
      if (asks === null) return;
      const params = { exec_id: id, action: 'take', ttl_ms: leaseMs } as const;
      const taken = await asks.call('exec.lease', params);
      announce('You have taken over the terminal');
      lease.value = { id: taken.lease_id, state: 'held' };
    });
  // Together with the message that typing is possible: keys in between would be lost.
  useLayoutEffect(() => {
    if (lease.value?.state !== 'held') return undefined;
    focus();
    const timer = setInterval(() => {
      const held = heldBy(lease);
      if (asks === null || held === null) return;
      const params = { exec_id: id, action: 'take', lease_id: held, ttl_ms: leaseMs } as const;
      asks.call('exec.lease', params).catch(() => {
        lease.value = null;
      });
    }, renewMs);
    return () => clearInterval(timer);
  }, [lease.value]);
  return (
    <>
      {lease.value === null ? (
        <button type="button" disabled={busy} onClick={() => void take()}>
          Take over
        </button>
      ) : (
        <button
          type="button"
          class="deny"
          disabled={lease.value.state === 'returning'}
          onClick={() => {
            if (asks !== null) release(asks, id, lease);
            announce('The terminal is released');
          }}
        >
          Release
        </button>
      )}
      <ActionError of={problem} />
    </>
  );
}

/** The id of the lease; `null`: the person only watches. */
function heldBy(lease: Signal<Lease | null>): string | null {
  const now = lease.peek();
  return now?.state === 'held' ? now.id : null;
}

function release(asks: Client, id: ExecId, lease: Signal<Lease | null>): void {
  const held = heldBy(lease);
  if (held === null) return;
  lease.value = { id: held, state: 'returning' };
  // If the runtime is not reached, the lease expires by itself.
  asks
    .call('exec.lease', { exec_id: id, action: 'release', lease_id: held })
    .catch(() => {})
    .finally(() => {
      lease.value = null;
    });
}

interface Watching {
  readonly box: HTMLElement;
  readonly screen: { current: TerminalScreen | null };
  readonly lease: Signal<Lease | null>;
  readonly signal: AbortSignal;
}

async function watch(
  asks: Client,
  id: ExecId,
  { box, screen, lease, signal }: Watching,
): Promise<void> {
  const { openTerminalScreen } = await import('../terminal/screen.ts');
  signal.throwIfAborted();
  const opened = openTerminalScreen(box, {
    onInput: (data) => {
      const held = heldBy(lease);
      if (held === null) return;
      asks.call('exec.write', { exec_id: id, data, lease_id: held }).catch(() => {
        lease.value = null;
      });
    },
    onResize: (columns, rows) => {
      const held = heldBy(lease);
      if (held === null) return;
      const params = { exec_id: id, columns, rows, lease_id: held };
      asks.call('exec.resize', params).catch(() => {});
    },
  });
  screen.current = opened;
  // It was taken over while its code was still loading.
  if (heldBy(lease) !== null) opened.focus();
  signal.addEventListener('abort', () => opened.close(), { once: true });
  for await (const event of asks.attach(id, { signal, cancelOnAbort: false })) {
    if (event.type === 'output') await opened.write(event.bytes);
  }
}
