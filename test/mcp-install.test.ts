// `trl mcp install`: files of other programs as they are found on a disk, hostile ones among them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { mcpClients, locateMcpConfig } from '../src/cli/mcp-clients.ts';
import {
  mcpConfigSnippet,
  writeConfigBackup,
  readMcpConfigFile,
  replaceMcpConfigFile,
} from '../src/cli/config-file.ts';
import { CannotEditError } from '../src/cli/config-json.ts';

const trl = path.join(path.dirname(import.meta.dirname), 'trl');
const base = mkdtempSync(path.join(tmpdir(), 'trl-mcp-'));
after(() => rmSync(base, { recursive: true, force: true }));

let made = 0;
/** A home and a project of a test's own. */
function place(): { home: string; project: string } {
  made += 1;
  const home = path.join(base, `home-${made}`);
  const project = path.join(base, `project-${made}`);
  mkdirSync(home);
  mkdirSync(project);
  return { home, project };
}

interface Ran {
  readonly status: number | null;
  readonly said: Record<string, unknown>;
  readonly stderr: string;
}

function cli({ home, project }: ReturnType<typeof place>, ...args: string[]): Ran {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home };
  const options = { env, cwd: project, encoding: 'utf8', input: '' } as const;
  const { status, stdout, stderr } = spawnSync(trl, [...args, '--json'], options);
  const value: unknown = JSON.parse(stdout);
  return { status, said: { ...(typeof value === 'object' ? value : {}) }, stderr };
}

test('installed for Codex and taken out again, every byte is as it was', () => {
  const at = place();
  const file = path.join(at.home, '.codex/config.toml');
  mkdirSync(path.dirname(file));
  const before = '# mine\r\nmodel = "o3"\r\n\r\n[mcp_servers.x]\r\ncommand = "y"   # z';
  writeFileSync(file, before, { mode: 0o640 });
  const installed = cli(at, 'mcp', 'install', '--client', 'codex');
  assert.equal(installed.status, 0, installed.stderr);
  const { action, backup, diff } = installed.said;
  assert.equal(action, 'added');
  assert.equal(readFileSync(String(backup), 'utf8'), before);
  assert.match(String(diff), /^\+\[mcp_servers\.trl\]/m);
  const text = readFileSync(file, 'utf8');
  const section = `[mcp_servers.trl]\r\ncommand = ${JSON.stringify(trl)}\r\nargs = ["mcp"]\r\n`;
  assert.equal(text, `${before}\r\n\r\n${section}`);
  assert.equal(statSync(file).mode & 0o777, 0o640);
  assert.equal(cli(at, 'mcp', 'install', '--client', 'codex').said['action'], 'none');
  assert.equal(readFileSync(file, 'utf8'), text);
  assert.equal(cli(at, 'mcp', 'uninstall', '--client', 'codex').said['action'], 'removed');
  assert.equal(readFileSync(file, 'utf8'), before);
  assert.deepEqual(readdirSync(path.dirname(file)), ['config.toml']);
});

test('the entry names a set of tools, another replaces it, and a bad one is refused', () => {
  for (const client of ['claude-code', 'codex', 'cursor', 'vscode'] as const) {
    const at = place();
    const flags = ['--client', client];
    const first = cli(at, 'mcp', 'install', ...flags, '--tools', 'general');
    const file = String(first.said['file']);
    assert.match(readFileSync(file, 'utf8'), /"mcp",\s*"--tools",\s*"general"/, client);
    assert.equal(cli(at, 'mcp', 'install', ...flags, '--tools', 'general').said['action'], 'none');
    assert.equal(cli(at, 'mcp', 'install', ...flags, '--tools', 'strict').status, 0, client);
    assert.match(readFileSync(file, 'utf8'), /"mcp",\s*"--tools",\s*"strict"/, client);
    const bad = spawnSync(trl, ['mcp', 'install', ...flags, '--tools', 'some'], {
      env: { PATH: process.env['PATH'] ?? '', HOME: at.home },
      cwd: at.project,
      encoding: 'utf8',
    });
    assert.match(bad.stderr, /takes one of all, general, strict/);
    assert.notEqual(bad.status, 0);
    cli(at, 'mcp', 'uninstall', ...flags);
    assert.ok(!existsSync(file) || !readFileSync(file, 'utf8').includes('trl'), client);
  }
  for (const client of mcpClients) {
    const printed = ['mcp', 'install', '--print', '--client', client, '--tools', 'general'];
    const { said } = cli(place(), ...printed);
    assert.ok(String(said['text']).includes('general'), client);
  }
});

test('in a project only the name is written, and a file that was not there goes again', () => {
  const at = place();
  const file = path.join(at.project, '.vscode/mcp.json');
  const flags = ['--client', 'vscode', '--scope', 'project'];
  const dry = cli(at, 'mcp', 'install', ...flags, '--dry-run');
  assert.equal(dry.said['action'], 'none');
  assert.match(String(dry.said['diff']), /^--- \/dev\/null\n/);
  assert.ok(!existsSync(file));
  cli(at, 'mcp', 'install', ...flags);
  const wanted = { servers: { trl: { type: 'stdio', command: 'trl', args: ['mcp'] } } };
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), wanted);
  cli(at, 'mcp', 'uninstall', ...flags);
  assert.ok(!existsSync(file));
});

test('what changed since stays, with the keys of others out of what is shown', () => {
  const at = place();
  const file = path.join(at.home, '.cursor/mcp.json');
  mkdirSync(path.dirname(file));
  const token = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  const server = `"gh": { "env": { "GITHUB_TOKEN": "${token}" } }`;
  const other = `{\n  "mcpServers": {\n    ${server}\n  }\n}\n`;
  writeFileSync(file, other);
  const { said } = cli(at, 'mcp', 'install', '--client', 'cursor', '--name', 'box');
  assert.ok(!JSON.stringify(said).includes(token));
  const text = readFileSync(file, 'utf8');
  assert.ok(text.includes(token));
  const since = text.replace('"mcpServers"', '// mine\n  "mcpServers"');
  writeFileSync(file, since);
  cli(at, 'mcp', 'uninstall', '--client', 'cursor', '--name', 'box');
  assert.equal(readFileSync(file, 'utf8'), other.replace('"mcp', '// mine\n  "mcp'));
});

test('an entry of somebody else is replaced only where that is said', () => {
  const at = place();
  const file = path.join(at.home, '.claude.json');
  const before = '{"mcpServers":{"trl":{"command":"mine","args":[]}}}';
  writeFileSync(file, before);
  const refused = cli(at, 'mcp', 'install', '--client', 'claude-code');
  assert.equal(refused.status, 125);
  assert.match(refused.stderr, /starts something else; --yes replaces it/);
  assert.equal(readFileSync(file, 'utf8'), before);
  const said = cli(at, 'mcp', 'install', '--client', 'claude-code', '--yes').said;
  assert.equal(said['action'], 'replaced');
  cli(at, 'mcp', 'uninstall', '--client', 'claude-code');
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('what stood alone in a file is back there, but for an earlier one of ours', () => {
  const at = place();
  const file = path.join(at.home, '.codex/config.toml');
  mkdirSync(path.dirname(file));
  const mine = 'mcp_servers.trl.command = "mine" # mine\nmcp_servers.trl.args = []\n';
  const earlier = '[mcp_servers.trl]\ncommand = "/old/trl"\nargs = ["mcp"]\n';
  for (const [before, left] of [
    [mine, mine],
    [earlier, null],
  ] as const) {
    writeFileSync(file, before);
    assert.equal(cli(at, 'mcp', 'install', '--client', 'codex', '--yes').status, 0);
    cli(at, 'mcp', 'uninstall', '--client', 'codex');
    assert.equal(existsSync(file) ? readFileSync(file, 'utf8') : null, left);
    for (const name of readdirSync(path.dirname(file))) rmSync(path.join(at.home, '.codex', name));
  }
});

test('a file that cannot be read is left as it is', () => {
  const at = place();
  const file = path.join(at.home, '.claude.json');
  writeFileSync(file, '{"mcpServers": {');
  const ran = cli(at, 'mcp', 'install', '--client', 'claude-code', '--yes');
  assert.equal(ran.status, 125);
  assert.match(ran.stderr, /Cannot edit ".*\.claude\.json": it is not valid JSON \(line 1\)/);
  assert.deepEqual(readdirSync(at.home), ['.claude.json']);
});

test('status starts nothing that a project names in the place of this program', () => {
  const at = place();
  const proof = path.join(at.project, 'started');
  const evil = path.join(at.project, 'trl');
  writeFileSync(evil, `#!/bin/sh\n: >'${proof}'\n`, { mode: 0o755 });
  const entry = { mcpServers: { trl: { command: evil, args: ['mcp'] } } };
  writeFileSync(path.join(at.project, '.mcp.json'), JSON.stringify(entry));
  const flags = ['--client', 'claude-code', '--scope', 'project'];
  const { said } = cli(at, 'mcp', 'status', ...flags);
  const found = JSON.stringify(said['clients']);
  assert.match(found, /"installed":false/);
  assert.match(found, /another program/);
  assert.ok(!existsSync(proof));
});

// --- files ------------------------------------------------------------------------------------

const refused = (reason: RegExp) => (error: unknown) =>
  error instanceof CannotEditError && reason.test(error.message);

test('a link is followed to its file and stays a link; out of a project it is refused', () => {
  const { home, project } = place();
  const real = path.join(home, 'dotfiles.json');
  const link = path.join(project, '.mcp.json');
  writeFileSync(real, '{}');
  symlinkSync(real, link);
  replaceMcpConfigFile(readMcpConfigFile(link, null), '{"a":1}');
  assert.equal(readFileSync(real, 'utf8'), '{"a":1}');
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.throws(() => readMcpConfigFile(link, project), refused(/leads out of the project/));
  symlinkSync(home, path.join(project, '.cursor'));
  const through = path.join(project, '.cursor/mcp.json');
  assert.throws(() => readMcpConfigFile(through, project), refused(/leads out of the project/));
  symlinkSync(path.join(home, 'nowhere'), path.join(project, 'gone'));
  assert.throws(
    () => readMcpConfigFile(path.join(project, 'gone'), null),
    refused(/leads nowhere/),
  );
});

test('no directory, no device, no bytes that are no text, nothing read-only is edited', () => {
  const { home } = place();
  assert.throws(() => readMcpConfigFile(home, null), refused(/not a regular file/));
  assert.throws(() => readMcpConfigFile('/dev/null', null), refused(/not a regular file/));
  const file = path.join(home, 'a.json');
  writeFileSync(file, Buffer.from([0x7b, 0xff, 0x7d]));
  assert.throws(() => readMcpConfigFile(file, null), refused(/not UTF-8/));
  writeFileSync(file, '{}');
  const opened = readMcpConfigFile(file, null);
  chmodSync(file, 0o444);
  assert.throws(() => replaceMcpConfigFile(opened, '{"a":1}'), refused(/read-only/));
  assert.deepEqual(readdirSync(home), ['a.json']);
});

test('what a client wrote meanwhile is not lost', () => {
  const { home } = place();
  const file = path.join(home, 'a.json');
  writeFileSync(file, '{}');
  const opened = readMcpConfigFile(file, null);
  writeFileSync(file, '{"new": 1}');
  assert.throws(() => replaceMcpConfigFile(opened, '{"a":1}'), refused(/changed it meanwhile/));
  assert.throws(() => replaceMcpConfigFile(opened, null), refused(/changed it meanwhile/));
  const absent = readMcpConfigFile(path.join(home, 'b.json'), null);
  writeFileSync(path.join(home, 'b.json'), 'x');
  assert.throws(() => replaceMcpConfigFile(absent, '{}'), refused(/changed it meanwhile/));
  assert.deepEqual(readdirSync(home).toSorted(), ['a.json', 'b.json']);
});

test('owner, mode and earlier backups stay', (t) => {
  const { home } = place();
  const file = path.join(home, 'a.json');
  writeFileSync(file, '{}', { mode: 0o600 });
  const first = writeConfigBackup(readMcpConfigFile(file, null), '1');
  const second = writeConfigBackup(readMcpConfigFile(file, null), '2');
  assert.deepEqual([first, second], [`${file}.before-trl`, `${file}.before-trl-2`]);
  assert.deepEqual([readFileSync(first, 'utf8'), statSync(first).mode & 0o777], ['1', 0o600]);
  if (process.getuid?.() !== 0) {
    t.skip('only root can give a file to somebody');
    return;
  }
  chownSync(file, 12_345, 23_456);
  replaceMcpConfigFile(readMcpConfigFile(file, null), '{"a":1}');
  const { uid, gid, mode } = statSync(file);
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 23_456, 0o600]);
});

test('every client has a text to put in, and it says the same in each form', () => {
  const around = { env: {}, home: '/h', project: '/p', platform: 'linux' } as const;
  const entry = { command: '/opt/a "b"/trl', args: ['mcp'] };
  for (const client of mcpClients) {
    const found = locateMcpConfig(client, 'user', around);
    assert.ok(found !== null && found.file.startsWith('/h/'), client);
    const text = mcpConfigSnippet(found, 'trl', entry);
    assert.ok(text.includes(JSON.stringify(entry.command)), text);
    assert.ok(text.includes('mcp'), text);
  }
});
