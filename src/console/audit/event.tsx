/** One event of the log, whole. */
import type { AuditEventView } from '../../client/index.ts';
import { isExecId } from '../command/exec-id.ts';
import { DetailList } from '../components/detail-list.tsx';
import { TextFragments, VisibleText } from '../components/visible-text.tsx';
import { consoleHref } from '../router.ts';
import { splitTextFragments } from '../text/visible.ts';

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
              <TextFragments pieces={splitTextFragments(line)} />
              {'\n'}
            </span>
          ))}
      </pre>
    </div>
  );
}
