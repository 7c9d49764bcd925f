/** One command between what it could read and what it left, from its signed statement. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { AuditEventView } from '../../client/index.ts';
import { currentClient } from '../live/connection.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { EmptyState, DetailSection } from '../components/detail-list.tsx';
import { toCommandSummary, toVisibleLine } from '../text/visible.ts';
import { readCommandStatement } from './statement.ts';
import type { StatementFile, CommandStatement } from './statement.ts';

/** Boxes in a column; the others are counted. */
const shownMax = 8;
const box = { width: 232, height: 40, gap: 12 } as const;
const width = 900;

export function ProvenanceDiagram({ exec }: { readonly exec: `x-${string}` }) {
  const events = useSignal<readonly AuditEventView[] | null>(null);
  const { problem, perform: act } = useAction();
  const asks = currentClient.value;
  useEffect(() => {
    if (asks === null) return;
    void act(async () => {
      const found = await asks.call('audit.list', { exec_id: exec, kinds: ['exec.statement'] });
      events.value = found.events;
    });
  }, [asks, exec]);
  const statement = events.value?.map(readCommandStatement).find((each) => each !== null);
  return (
    <DetailSection title="Provenance">
      {statement === undefined ? (
        events.value !== null && <EmptyState title="No statement of this command is recorded" />
      ) : (
        <Picture of={statement} />
      )}
      <ActionError of={problem} />
    </DetailSection>
  );
}

function Picture({ of }: { readonly of: CommandStatement }) {
  const into = of.materials.slice(0, shownMax);
  const out = [...of.products, ...of.gone].slice(0, shownMax);
  const rows = Math.max(into.length, out.length, 1);
  const height = rows * (box.height + box.gap) + 44;
  const middle = 30 + (rows * (box.height + box.gap)) / 2;
  const cutIn = of.materials.length - into.length;
  const cutOut = of.products.length + of.gone.length - out.length;
  const label =
    `${of.materials.length} things it could read or ran, ` +
    `${of.products.length} it left, ${of.gone.length} it removed`;
  return (
    <>
      <svg class="graph" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
        <text class="caption" x={0} y={16}>
          Could read, or ran
        </text>
        <text class="caption" x={width - box.width} y={16}>
          Left
        </text>
        {into.map((each, row) => (
          <path key={row} class="edge" d={edge(box.width, centre(row), 334, middle)} />
        ))}
        {out.map((_, row) => (
          <path key={row} class="edge" d={edge(566, middle, width - box.width, centre(row))} />
        ))}
        {into.map((each, row) => (
          <Box key={row} x={0} y={centre(row)} of={each} kind="material" />
        ))}
        {out.map((each, row) => (
          <Box
            key={row}
            x={width - box.width}
            y={centre(row)}
            of={each}
            kind={row < of.products.length ? 'product' : 'gone'}
          />
        ))}
        <g class="node command">
          <rect x={334} y={middle - 26} width={232} height={52} rx={8} />
          <text class="name" x={450} y={middle - 4} text-anchor="middle">
            {head(toCommandSummary(of.command), 28)}
          </text>
          <text class="digest" x={450} y={middle + 14} text-anchor="middle">
            {of.exitCode === null ? '' : `exit ${of.exitCode}`}
          </text>
        </g>
      </svg>
      {cutIn + cutOut > 0 && <p class="quiet">{cutIn + cutOut} more are not drawn.</p>}
    </>
  );
}

const centre = (row: number): number => 30 + row * (box.height + box.gap) + box.height / 2;

function edge(x1: number, y1: number, x2: number, y2: number): string {
  const bend = (x2 - x1) / 2;
  return `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

interface BoxProps {
  readonly x: number;
  readonly y: number;
  readonly of: StatementFile;
  readonly kind: 'material' | 'product' | 'gone';
}

function Box({ x, y, of, kind }: BoxProps) {
  return (
    <g class={`node ${kind}`}>
      <rect x={x} y={y - box.height / 2} width={box.width} height={box.height} rx={6} />
      <text class="name" x={x + 12} y={y - 2}>
        {short(toVisibleLine(of.name), 28)}
      </text>
      <text class="digest" x={x + 12} y={y + 13}>
        {of.sha256 === null ? (kind === 'gone' ? 'no content left' : '') : of.sha256.slice(0, 24)}
      </text>
    </g>
  );
}

/** The end of a path is more informative than its beginning. */
function short(text: string, most: number): string {
  return text.length <= most ? text : `…${text.slice(text.length - most + 1)}`;
}

const head = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1)}…`;
