/** The audit log as a timeline: filters, one event in detail, verification. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type {
  AuditEventView,
  AuditListAnswer,
  AuditListParams,
  AuditVerifyAnswer,
} from '../../client/index.ts';
import { isExecId, consoleHref } from '../router.ts';
import { currentClient } from '../live/connection.ts';
import { newestExecs, sessions } from '../live/store.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { EmptyState, DetailSection, DetailList } from '../components/detail-list.tsx';
import { VisibleText, TextFragments } from '../components/visible-text.tsx';
import { toVisibleLine, splitTextFragments } from '../text/visible.ts';
import { ProvenanceDiagram } from './provenance.tsx';

const kindsOffered = [
  ['', 'Everything'],
  ['exec.*', 'Commands'],
  ['approval.*', 'Approvals'],
  ['session.*', 'Sessions'],
  ['secret.*', 'Secrets'],
  ['workspace.*', 'Workspaces'],
  ['publication.*', 'Publications'],
  ['token.*', 'Tokens'],
  ['call.*', 'Refused calls'],
] as const;
const listedMax = 200;

interface Filter {
  readonly kind: Signal<string>;
  readonly actor: Signal<string>;
  /** Id of a session; '': all. */
  readonly session: Signal<string>;
}

export function AuditPage({ rest }: { readonly rest: string }) {
  const filter: Filter = { kind: useSignal(''), actor: useSignal(''), session: useSignal('') };
  const list = useSignal<AuditListAnswer | null>(null);
  const opened = useSignal<AuditEventView | null>(null);
  const { busy, problem, perform: act } = useAction();
  const asks = currentClient.value;
  const exec = isExecId(rest) ? rest : null;
  const read = (): Promise<void> =>
    act(async () => {
      if (asks !== null) list.value = await asks.call('audit.list', paramsOf(filter, exec));
    });
  // Everything a command does is followed by an event: then the list is read again.
  const newest = newestExecs.value[0];
  const { kind, session } = filter;
  useEffect(() => {
    void read();
  }, [asks, kind.value, session.value, rest, newest?.exec_id, newest?.state]);
  return (
    <>
      <header class="view-head">
        <h1>Audit</h1>
        <LogVerification />
      </header>
      <div class="filters">
        <Filters of={filter} read={read} />
        <button type="button" disabled={busy} onClick={() => void read()}>
          Read again
        </button>
        {exec !== null && (
          <a class="button" href={consoleHref('audit')}>
            All commands
          </a>
        )}
      </div>
      <ActionError of={problem} />
      {exec !== null && <ProvenanceDiagram exec={exec} />}
      <Timeline list={list.value} opened={opened} />
    </>
  );
}

function paramsOf(filter: Filter, exec: `x-${string}` | null): AuditListParams {
  const of = sessions.peek().get(filter.session.value);
  const actor = filter.actor.value.trim();
  return {
    limit: listedMax,
    ...(filter.kind.value === '' ? {} : { kinds: [filter.kind.value] }),
    ...(actor === '' ? {} : { actor }),
    ...(of === undefined ? {} : { session_id: of.session_id }),
    ...(exec === null ? {} : { exec_id: exec }),
  };
}

interface FiltersProps {
  readonly of: Filter;
  readonly read: () => Promise<void>;
}

function Filters({ of: { kind, actor, session }, read }: FiltersProps) {
  return (
    <>
      <label>
        What
        <select
          value={kind.value}
          onChange={(event) => {
            kind.value = event.currentTarget.value;
          }}
        >
          {kindsOffered.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Session
        <select
          value={session.value}
          onChange={(event) => {
            session.value = event.currentTarget.value;
          }}
        >
          <option value="">All</option>
          {[...sessions.value.values()].map(({ session_id: id, name }) => (
            <option key={id} value={id}>
              {toVisibleLine(name ?? id.slice(0, 10))}
            </option>
          ))}
        </select>
      </label>
      <label>
        Who
        <input
          type="text"
          data-filter
          class="mono"
          placeholder="uid:1000"
          value={actor.value}
          onInput={(event) => {
            actor.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') void read();
          }}
        />
      </label>
    </>
  );
}

interface TimelineProps {
  readonly list: AuditListAnswer | null;
  readonly opened: Signal<AuditEventView | null>;
}

function Timeline({ list, opened }: TimelineProps) {
  if (list === null) return <p class="quiet">Reading…</p>;
  if (list.events.length === 0) return <EmptyState title="Nothing is recorded that matches" />;
  const days = Map.groupBy(list.events, ({ at }) => at.slice(0, 10));
  return (
    <>
      {[...days].map(([day, events]) => (
        <DetailSection key={day} title={day} aside={<span class="quiet">{events.length}</span>}>
          <ol class="timeline">
            {events.map((event) => (
              <EventRow key={`${event.log} ${event.seq}`} event={event} opened={opened} />
            ))}
          </ol>
        </DetailSection>
      ))}
      {list.truncated && <p class="quiet">There are older events: narrow the filter.</p>}
    </>
  );
}

function EventRow({
  event,
  opened,
}: {
  readonly event: AuditEventView;
  readonly opened: TimelineProps['opened'];
}) {
  const isOpen = opened.value?.seq === event.seq && opened.value.log === event.log;
  return (
    <li class={`event ${classOf(event.kind)}`}>
      <button
        type="button"
        data-row
        aria-expanded={isOpen}
        onClick={() => {
          opened.value = isOpen ? null : event;
        }}
      >
        <time class="quiet mono" dateTime={event.at}>
          {event.at.slice(11, 19)}
        </time>
        <span class="kind">
          <VisibleText of={event.kind} mono />
        </span>
        <span class="what mono">
          <VisibleText of={summaryOf(event)} mono />
        </span>
        <span class="quiet">
          <VisibleText of={event.actor ?? 'the runtime'} />
        </span>
      </button>
      {isOpen && <EventDetail event={event} />}
    </li>
  );
}

function classOf(kind: string): string {
  const isNo = /\.(?:refused|failed|blocked|interrupted|repaired)$/.test(kind);
  return isNo ? 'refused' : (kind.split('.')[0] ?? '');
}

/** The most important field of an event: the command, request or name. */
function summaryOf({ data }: AuditEventView): string {
  for (const name of ['command', 'name', 'reason', 'decision', 'exit_code', 'method', 'path']) {
    const value = data[name];
    if (typeof value === 'string' || typeof value === 'number') {
      return `${name === 'command' ? '' : `${name} `}${value}`.split('\n')[0]?.slice(0, 200) ?? '';
    }
  }
  return '';
}

/** One event of the log, with all its fields. */
export function EventDetail({ event }: { readonly event: AuditEventView }) {
  const { exec_id: exec } = event;
  return (
    <div class="event-detail">
      <DetailList
        of={[
          { name: 'Event', value: <code>{event.seq}</code> },
          { name: 'At', value: event.at },
          { name: 'Log', value: <code>{event.log}</code> },
          { name: 'Leaf', value: <code>{event.leaf}</code> },
          event.session_id === undefined
            ? null
            : { name: 'Session', value: <VisibleText of={event.session_id} mono /> },
          exec !== undefined && isExecId(exec)
            ? { name: 'Command', value: <a href={consoleHref('command', exec)}>{exec}</a> }
            : null,
        ]}
      />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls by keyboard */}
      <pre class="json" tabIndex={0} role="region" aria-label="What was recorded">
        {JSON.stringify(event.data, null, 2)
          .split('\n')
          .map((line, index) => (
            <span key={index}>
              <TextFragments fragments={splitTextFragments(line)} />
              {'\n'}
            </span>
          ))}
      </pre>
    </div>
  );
}

/** Verifies the whole audit log. */
export function LogVerification() {
  const found = useSignal<AuditVerifyAnswer | null>(null);
  const { busy, problem, perform: act } = useAction();
  const check = (): Promise<void> =>
    act(async () => {
      found.value = (await currentClient.value?.call('audit.verify', {})) ?? null;
    });
  const answer = found.value;
  return (
    <div class="verify">
      <button type="button" disabled={busy} onClick={() => void check()}>
        {busy ? 'Checking everything…' : 'Verify the log'}
      </button>
      {answer !== null && (
        <div role="status" class={answer.good ? 'good' : 'problem'}>
          <p>
            {answer.good ? 'The log is unchanged: ' : 'The log was CHANGED: '}
            {answer.logs.reduce((sum, { events }) => sum + events, 0)} events in{' '}
            {answer.logs.length} logs.
          </p>
          <ul>
            {answer.findings.map(({ text }, index) => (
              <li key={index}>
                <VisibleText of={text} />
              </li>
            ))}
            {answer.logs.flatMap(({ findings, log }) =>
              findings.map(({ text }, index) => (
                <li key={`${log} ${index}`}>
                  <VisibleText of={text} />
                </li>
              )),
            )}
          </ul>
        </div>
      )}
      <ActionError of={problem} />
    </div>
  );
}
