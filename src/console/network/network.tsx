/** The network: which hosts each session is connected to now, and a server inside, in a new tab. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SessionView } from '../../client/index.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { DetailSection, EmptyState } from '../components/detail-list.tsx';
import { formatByteCount, TimeAgo } from '../components/time.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { announce } from '../live/alert.ts';
import { currentClient } from '../live/connection.ts';
import { sessionLabel, sessions } from '../live/store.ts';

type SessionId = SessionView['session_id'];

interface Connection {
  readonly host: string;
  readonly port: number;
  readonly state: 'open' | 'held';
  readonly since: string;
  readonly sent_bytes: number;
  readonly received_bytes: number;
}

const refreshMs = 1_500;
/** Sessions that are asked: the most recently active ones. */
const sessionsMax = 20;

const isBridged = ({ network }: SessionView): boolean => network === 'hosts' || network === 'open';
const hasOwnNetwork = ({ network, sandbox }: SessionView): boolean =>
  network !== 'host' && sandbox !== 'none';

/** An address is one that a rule names; the rule's session ends it. */
const isName = (host: string): boolean => !/^[\d.]+$/.test(host);

const stateOf = ({ state }: Connection): string => (state === 'held' ? 'waits for you' : 'open');
const bytesOf = ({ sent_bytes: sent, received_bytes: received }: Connection): string =>
  `${formatByteCount(sent)} sent, ${formatByteCount(received)} received`;

export function NetworkPage() {
  const own = [...sessions.value.values()]
    .filter(hasOwnNetwork)
    .toSorted((a, b) => b.last_activity.localeCompare(a.last_activity));
  const bridged = own.filter(isBridged).slice(0, sessionsMax);
  return (
    <>
      <header class="view-head">
        <h1>Network</h1>
      </header>
      <DetailSection title="Connections now">
        {bridged.length === 0 ? (
          <EmptyState title="No session reaches hosts">
            Sessions with --net and the names of hosts appear here.
          </EmptyState>
        ) : (
          bridged.map((session) => (
            <SessionConnections key={session.session_id} id={session.session_id} />
          ))
        )}
      </DetailSection>
      <DetailSection title="Show a port of a session">
        {own.length === 0 ? (
          <EmptyState title="No session">A server that runs in one can be shown here.</EmptyState>
        ) : (
          <PortForm ids={own.map(({ session_id: id }) => id)} />
        )}
      </DetailSection>
    </>
  );
}

function SessionConnections({ id }: { readonly id: SessionId }) {
  const found = useSignal<readonly Connection[]>([]);
  const { busy, problem, perform } = useAction();
  const client = currentClient.value;
  useEffect(() => {
    if (client === null) return;
    let isOver = false;
    const look = async (): Promise<void> => {
      // A session that has just ended has none.
      const answer = await client
        .call('session.connections', { session_id: id })
        .catch(() => ({ connections: [] }));
      if (!isOver) found.value = answer.connections;
    };
    void look();
    const timer = setInterval(() => void look(), refreshMs);
    return () => {
      isOver = true;
      clearInterval(timer);
    };
  }, [client, id]);
  const block = (host: string): Promise<void> =>
    perform(async () => {
      await client?.call('session.block_host', { session_id: id, host });
      announce(`${host} is blocked for ${sessionLabel(id)}`);
    });
  return (
    <section>
      <h3>
        <VisibleText of={sessionLabel(id)} />
      </h3>
      <ActionError of={problem} />
      {found.value.length === 0 ? (
        <p class="quiet">No connection at the moment.</p>
      ) : (
        <ul class="rows">
          {found.value.map((one, index) => (
            <li key={`${one.host}:${one.port}:${one.since}:${index}`}>
              <span class="mono">
                <VisibleText of={`${one.host}:${one.port}`} mono />
              </span>{' '}
              <span class="quiet">
                {stateOf(one)} · since <TimeAgo at={one.since} /> · {bytesOf(one)}
              </span>{' '}
              {isName(one.host) && (
                <button type="button" disabled={busy} onClick={() => void block(one.host)}>
                  Block {one.host}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function PortForm({ ids }: { readonly ids: readonly SessionId[] }) {
  const chosen = useSignal<SessionId | null>(null);
  const port = useSignal('5173');
  const url = useSignal<string | null>(null);
  const { busy, problem, perform } = useAction();
  const id = chosen.value ?? ids[0];
  const show = (): Promise<void> =>
    perform(async () => {
      url.value = null;
      if (id === undefined) return;
      const wanted = { session_id: id, port: Number(port.value) };
      url.value = (await currentClient.value?.call('session.show_port', wanted))?.url ?? null;
    });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void show();
      }}
    >
      <label>
        Session{' '}
        <select
          value={id}
          onChange={(event) => {
            chosen.value = ids.find((one) => one === event.currentTarget.value) ?? null;
          }}
        >
          {ids.map((one) => (
            <option key={one} value={one}>
              {sessionLabel(one)}
            </option>
          ))}
        </select>
      </label>{' '}
      <label>
        Port{' '}
        <input
          type="number"
          min="1"
          max="65535"
          required
          value={port.value}
          onInput={(event) => {
            port.value = event.currentTarget.value;
          }}
        />
      </label>{' '}
      <button type="submit" disabled={busy}>
        Show
      </button>
      <ActionError of={problem} />
      {url.value !== null && (
        <p>
          <a href={url.value} target="_blank" rel="noreferrer">
            Open port {port.value} in a new tab
          </a>{' '}
          <span class="quiet">(on the machine of the runtime alone)</span>
        </p>
      )}
    </form>
  );
}
