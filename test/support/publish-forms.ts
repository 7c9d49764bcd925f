/** What happens to text on its way out: each form of a snippet, as tools and people make it. */

export interface Form {
  readonly name: string;
  readonly of: (lines: readonly string[]) => string;
}

const each =
  (change: (line: string, i: number) => string) =>
  (lines: readonly string[]): string =>
    lines.map((line, i) => change(line, i)).join('\n');

const two = (n: number): string => String(n).padStart(2, '0');
const clock = (i: number): string => `12:${two(i % 60)}:${two((i * 7) % 60)}`;

export const forms: readonly Form[] = [
  { name: 'verbatim', of: each((line) => line) },
  { name: 're-indent', of: each((line) => `\t\t      ${line.trim()}`) },
  { name: 'joined', of: (lines) => lines.map((line) => line.trim()).join(' ') },
  { name: 'no white space', of: (lines) => lines.join('').replaceAll(/\s/g, '') },
  { name: 'CRLF', of: (lines) => lines.join('\r\n') },
  { name: 'diff +', of: each((line) => `+${line}`) },
  { name: 'diff -', of: each((line) => `-${line}`) },
  { name: 'diff mixed', of: each((line, i) => `${'+- '[i % 3]}${line}`) },
  { name: 'grep -n', of: each((line, i) => `${98 + i}:${line}`) },
  { name: 'grep -rn', of: each((line, i) => `src/core/some-file.ts:${98 + i}:${line}`) },
  { name: 'grep -C', of: each((line, i) => `src/core/some-file.ts-${98 + i}-${line}`) },
  { name: 'grep -r', of: each((line) => `lib/thing.py:${line}`) },
  { name: 'rg --vimgrep', of: each((line, i) => `lib/thing.py:${i + 9}:5:${line}`) },
  { name: 'cat -n', of: each((line, i) => `${String(i + 8).padStart(6)}\t${line}`) },
  { name: 'nl', of: each((line, i) => `${String(i + 8).padStart(6)}  ${line}`) },
  { name: 'editor numbers', of: each((line, i) => `${String(i + 98).padStart(4)} | ${line}`) },
  { name: 'ISO time', of: each((line, i) => `2026-03-04T${clock(i)}.123Z ${line}`) },
  { name: 'ISO time, level', of: each((line, i) => `2026-03-04 ${clock(i)},123 INFO ${line}`) },
  { name: 'syslog', of: each((line, i) => `Mar  4 ${clock(i)} host-1 app[123]: ${line}`) },
  { name: 'python log', of: each((l, i) => `2026-03-04 ${clock(i)},1 - app.main - INFO - ${l}`) },
  { name: '[time]', of: each((line, i) => `[${clock(i)}] ${line}`) },
  { name: 'time, thread', of: each((l, i) => `${clock(i)}.001 [main] DEBUG c.e.App - ${l}`) },
  { name: 'CRI', of: each((line, i) => `2026-03-04T${clock(i)}.123456789Z stdout F ${line}`) },
  { name: 'compose', of: each((line) => `web-1  | ${line}`) },
  { name: 'compose, time', of: each((line, i) => `web-1  | 2026-03-04T${clock(i)}Z ${line}`) },
  { name: 'klog', of: each((l, i) => `I0304 ${clock(i)}.123456   1 main.go:12] ${l}`) },
  { name: 'dmesg', of: each((line, i) => `[  ${100 + i}.123456] ${line}`) },
  { name: 'Actions', of: each((line, i) => `2026-03-04T${clock(i)}.1234567Z ##[debug]${line}`) },
  { name: 'unknown prefix', of: each((line, i) => `job<7f>/step ${i} :: ${line}`) },
  { name: 'ANSI', of: each((l) => l.replaceAll(/\b(\w{3,})\b/g, '\u001b[38;5;12m$1\u001b[0m')) },
  { name: 'grep colour', of: each((l, i) => `\u001b[35mf.ts\u001b[m\u001b[36m:\u001b[m${i}:${l}`) },
  {
    name: 'quotes swapped',
    of: each((l) => l.replaceAll(/["']/g, (q) => (q === '"' ? "'" : '"'))),
  },
  { name: 'curly quotes', of: each((line) => line.replaceAll('"', '”').replaceAll("'", '’')) },
  { name: 'JSON lines', of: (lines) => JSON.stringify(lines, null, 2) },
  { name: 'container log', of: each((l) => JSON.stringify({ log: `${l}\n`, stream: 'stdout' })) },
  { name: 'concatenated', of: each((line) => `  ${JSON.stringify(`${line}\n`)} +`) },
  {
    name: "concatenated '",
    of: each((l) => `  '${l.replaceAll(/[\\']/g, String.raw`\$&`)}\\n' +`),
  },
  { name: 'quotation', of: each((line) => `> ${line}`) },
  { name: 'quotation >>', of: each((line) => `> > ${line}`) },
  { name: '// comment', of: each((line) => `// ${line}`) },
  { name: '# comment', of: each((line) => `# ${line}`) },
  { name: '* comment', of: each((line) => ` * ${line}`) },
  { name: 'table', of: each((line) => `| ${line} |`) },
  { name: 'diff + grep', of: each((line, i) => `a/b.ts:${i + 1}:+${line}`) },
  { name: 'time + diff', of: each((line, i) => `${clock(i)} +${line}`) },
  { name: 'cut at 60', of: each((line) => line.slice(0, 60)) },
];
