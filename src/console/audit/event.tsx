/** One event of the log, whole. */
import type { AuditEventView } from '../../client/index.ts';
import { isExecId } from '../command/exec-id.ts';
import { Facts } from '../parts/facts.tsx';
import { Pieces, Text } from '../parts/pieces.tsx';
import { addressOf } from '../router.ts';
import { piecesOf } from '../text/visible.ts';

export function EventDetail({ event }: { readonly event: AuditEventView }) {
  const { exec_id: exec } = event;
  return (
    <div class="event-detail">
      <Facts
        of={[
          { name: 'Event', is: <code>{event.seq}</code> },
          { name: 'At', is: event.at },
          { name: 'Log', is: <code>{event.log}</code> },
          { name: 'Leaf', is: <code>{event.leaf}</code> },
          event.session_id === undefined
            ? null
            : { name: 'Session', is: <Text of={event.session_id} mono /> },
          exec !== undefined && isExecId(exec)
            ? { name: 'Command', is: <a href={addressOf('command', exec)}>{exec}</a> }
            : null,
        ]}
      />
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls by keyboard */}
      <pre class="json" tabIndex={0} role="region" aria-label="What was recorded">
        {JSON.stringify(event.data, null, 2)
          .split('\n')
          .map((line, index) => (
            <span key={index}>
              <Pieces pieces={piecesOf(line)} />
              {'\n'}
            </span>
          ))}
      </pre>
    </div>
  );
}
