/** A command with a terminal: watch it, take it over, hand it back. xterm comes when needed. */
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Client, ExecView } from '../../client/index.ts';
import type { Screen } from '../terminal/screen.ts';
import { announce } from '../live/alert.ts';
import { client, reasonOf } from '../live/connection.ts';
import { Problem, useActing } from '../parts/act.tsx';

type ExecId = ExecView['exec_id'];

/** How long a lease holds without being renewed, and how often it is, in `ms`. */
const leaseMs = 30_000;
const renewMs = 10_000;

export function TerminalPane({ exec }: { readonly exec: ExecView }) {
  const box = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | null>(null);
  const lease = useSignal<string | null>(null);
  const problem = useSignal<string | null>(null);
  const asks = client.value;
  const id = exec.exec_id;
  useEffect(() => {
    if (asks === null || box.current === null) return undefined;
    const stop = new AbortController();
    watch(asks, id, { box: box.current, screen, lease, signal: stop.signal }).catch(
      (error: unknown) => {
        if (!stop.signal.aborted) problem.value = reasonOf(error);
      },
    );
    return () => {
      stop.abort(new DOMException('The view was left', 'AbortError'));
      release(asks, id, lease);
    };
  }, [id, asks]);
  const isHeld = lease.value !== null && exec.state === 'running';
  return (
    <section class={isHeld ? 'terminal held' : 'terminal'} aria-label="Terminal">
      <header>
        <p>{isHeld ? 'You type here. The agent cannot.' : 'You watch.'}</p>
        {exec.state === 'running' && (
          <TakeOver id={id} lease={lease} focus={() => screen.current?.focus()} />
        )}
      </header>
      <div class="screen">
        <div ref={box} />
      </div>
      <Problem of={problem.value} />
    </section>
  );
}

interface TakeOverProps {
  readonly id: ExecId;
  readonly lease: Signal<string | null>;
  readonly focus: () => void;
}

function TakeOver({ id, lease, focus }: TakeOverProps) {
  const { busy, problem, act } = useActing();
  const asks = client.value;
  const take = (): Promise<void> =>
    act(async () => {
      if (asks === null) return;
      const held = lease.value === null ? {} : { lease_id: lease.value };
      const params = { exec_id: id, action: 'take', ttl_ms: leaseMs, ...held } as const;
      const taken = await asks.call('exec.lease', params);
      if (lease.value === null) announce('You have taken the terminal over');
      lease.value = taken.lease_id;
    });
  useEffect(() => {
    if (lease.value === null) return undefined;
    focus();
    const timer = setInterval(() => {
      const held = lease.value;
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
          onClick={() => {
            if (asks !== null) release(asks, id, lease);
            announce('The terminal is the agent’s again');
          }}
        >
          Hand back
        </button>
      )}
      <Problem of={problem} />
    </>
  );
}

function release(asks: Client, id: ExecId, lease: Signal<string | null>): void {
  const held = lease.peek();
  lease.value = null;
  if (held === null) return;
  // Where nobody is reached, the lease runs out by itself.
  asks.call('exec.lease', { exec_id: id, action: 'release', lease_id: held }).catch(() => {});
}

interface Watching {
  readonly box: HTMLElement;
  readonly screen: { current: Screen | null };
  readonly lease: Signal<string | null>;
  readonly signal: AbortSignal;
}

async function watch(
  asks: Client,
  id: ExecId,
  { box, screen, lease, signal }: Watching,
): Promise<void> {
  const { openScreen } = await import('../terminal/screen.ts');
  signal.throwIfAborted();
  const isHeld = (): string | null => lease.peek();
  const opened = openScreen(box, {
    typed: (data) => {
      const held = isHeld();
      if (held === null) return;
      asks.call('exec.write', { exec_id: id, data, lease_id: held }).catch(() => {
        lease.value = null;
      });
    },
    resized: (columns, rows) => {
      const held = isHeld();
      if (held === null) return;
      const params = { exec_id: id, columns, rows, lease_id: held };
      asks.call('exec.resize', params).catch(() => {});
    },
  });
  screen.current = opened;
  signal.addEventListener('abort', () => opened.close(), { once: true });
  for await (const event of asks.attach(id, { signal, cancelOnAbort: false })) {
    if (event.type === 'output') await opened.write(event.bytes);
  }
}
