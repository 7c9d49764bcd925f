/** The latency figures as a picture: a bar to the median, a whisker from the minimum to p95. */
import type { LatencyGroup, LatencyRow } from './latency.ts';

const width = 760;
const left = 170;
const right = 90;
const rowHeight = 24;
const groupHead = 40;
/** The longest bar that is drawn to scale, in multiples of a raw spawn; longer ones are cut. */
const ratioMax = 8;

export function latencySvg(groups: readonly LatencyGroup[], about: string): string {
  let y = 44;
  const parts: string[] = [];
  for (const group of groups) {
    const scale = scaleOf(group);
    const title = `caller with ${Math.round(group.callerBytes / 1e6)} MB resident`;
    parts.push(text({ x: 12, y: y + 24, label: title, style: 'font-weight="bold"' }));
    y += groupHead;
    for (const row of group.rows) {
      parts.push(...bar(row, y, scale));
      y += rowHeight;
    }
  }
  const height = y + 20;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text({ x: 12, y: 20, label: 'Time per command: true in bash, in ms', style: 'font-size="15"' }),
    text({
      x: 12,
      y: 38,
      label: `bar: median; line: minimum to p95. ${about}`,
      style: 'fill="#666"',
    }),
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** Pixels of a number of milliseconds, cut at the right edge. */
function scaleOf({ rows }: LatencyGroup): (ms: number) => number {
  const raw = Math.min(...rows.map(({ p50, ratio }) => p50 / ratio));
  const longest = Math.min(ratioMax * raw, Math.max(...rows.map(({ p95 }) => p95)));
  return (ms) => Math.min(1, ms / longest) * (width - left - right);
}

function bar({ name, min, p50, p95, ratio }: LatencyRow, y: number, px: (ms: number) => number) {
  const fill = name.startsWith('TRL') ? '#2563eb' : '#9ca3af';
  const middle = y + 8;
  const label = `${p50.toFixed(1)} (${ratio.toFixed(2)}×)`;
  return [
    text({ x: left - 8, y: middle + 5, label: name, style: 'text-anchor="end"' }),
    `<rect x="${left}" y="${y}" width="${px(p50).toFixed(1)}" height="16" fill="${fill}"/>`,
    `<line x1="${(left + px(min)).toFixed(1)}" x2="${(left + px(p95)).toFixed(1)}" ` +
      `y1="${middle}" y2="${middle}" stroke="#111"/>`,
    text({ x: left + px(Math.max(p50, p95)) + 6, y: middle + 5, label, style: 'fill="#333"' }),
  ];
}

function text(what: { x: number; y: number; label: string; style: string }): string {
  const safe = what.label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${what.x.toFixed(0)}" y="${what.y}" ${what.style}>${safe}</text>`;
}
