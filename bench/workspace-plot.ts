/** What a command costs against the size of the tree, as a picture and as text. */
import { ratioMax, type CostRow } from './workspace-cost.ts';

const width = 760;
const height = 420;
const box = { left: 70, top: 70, right: 30, bottom: 60 };

interface Point {
  readonly files: number;
  readonly ms: number;
  readonly low: number;
  readonly high: number;
}

/** @param bareMs p50 of the same command in a sandbox without a workspace, unrecorded */
export function costSvg(rows: readonly CostRow[], bareMs: number, about: string): string {
  const points = pointsOf(rows);
  const top = 1.15 * Math.max(bareMs * ratioMax, ...points.map(({ high }) => high));
  const x = axis(points);
  const px = (files: number): number => box.left + x(files) * (width - box.left - box.right);
  const py = (ms: number): number => height - box.bottom - (ms / top) * (height - box.top - 60);
  const line = points.map(({ files, ms }) => `${px(files).toFixed(1)},${py(ms).toFixed(1)}`);
  const level = (ms: number, label: string, dash: string): string[] => [
    `<line x1="${box.left}" x2="${width - box.right}" y1="${py(ms).toFixed(1)}" ` +
      `y2="${py(ms).toFixed(1)}" stroke="#9ca3af" stroke-dasharray="${dash}"/>`,
    text({ x: box.left + 6, y: py(ms) - 5, label, style: 'fill="#666" font-size="12"' }),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" font-family="sans-serif" font-size="13">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text({
      x: 12,
      y: 22,
      label: 'A command that changes 5 files, against the size of the tree, in ms',
      style: 'font-size="15"',
    }),
    text({ x: 12, y: 42, label: `dot: median; line: minimum to p95. ${about}`, style: grey }),
    ...level(bareMs, `bare sandbox ${bareMs.toFixed(1)}`, '6 4'),
    ...level(bareMs * ratioMax, `target: ${ratioMax} times`, '2 4'),
    `<polyline points="${line.join(' ')}" fill="none" stroke="#2563eb" stroke-width="2"/>`,
    ...points.flatMap(({ files, ms, low, high }) => [
      `<line x1="${px(files).toFixed(1)}" x2="${px(files).toFixed(1)}" ` +
        `y1="${py(low).toFixed(1)}" y2="${py(high).toFixed(1)}" stroke="#111"/>`,
      `<circle cx="${px(files).toFixed(1)}" cy="${py(ms).toFixed(1)}" r="5" fill="#2563eb"/>`,
      text({ x: px(files) + 9, y: py(ms) - 8, label: ms.toFixed(1), style: 'fill="#111"' }),
      text({
        x: px(files),
        y: height - box.bottom + 24,
        label: `${files.toLocaleString('en')} files`,
        style: 'text-anchor="middle"',
      }),
    ]),
    '</svg>\n',
  ].join('\n');
}

const grey = 'fill="#666"';

/** Places between 0 and 1, by the logarithm. */
function axis(points: readonly Point[]): (files: number) => number {
  const sizes = points.map(({ files }) => Math.log10(files));
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  return (files) => (high === low ? 0.5 : 0.06 + (0.86 * (Math.log10(files) - low)) / (high - low));
}

function pointsOf(rows: readonly CostRow[]): Point[] {
  return rows.flatMap(({ files, p50, min, p95 }) =>
    files === null ? [] : [{ files, ms: p50, low: min, high: p95 }],
  );
}

/** A bar for each tree, and one for the bare sandbox. */
export function costText(rows: readonly CostRow[], bareMs: number): string[] {
  const points = pointsOf(rows);
  const top = Math.max(bareMs, ...points.map(({ ms }) => ms));
  const bar = (label: string, ms: number): string =>
    `  ${label.padStart(16)} ${'█'.repeat(Math.max(1, Math.round((48 * ms) / top)))} ` +
    `${ms.toFixed(1)} ms (${(ms / bareMs).toFixed(2)}×)`;
  return [
    bar('bare sandbox', bareMs),
    ...points.map(({ files, ms }) => bar(`${files.toLocaleString('en')} files`, ms)),
  ];
}

function text(what: { x: number; y: number; label: string; style: string }): string {
  const safe = what.label.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text x="${what.x.toFixed(0)}" y="${what.y.toFixed(0)}" ${what.style}>${safe}</text>`;
}
