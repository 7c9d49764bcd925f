/** The programs that the documents show, run as they are written against a reader's runtime. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type * as z from 'zod/mini';
import { documentSchemas } from '../../src/api/document-schemas.ts';
import { newSession, raw } from './daemon.ts';
import type { Json } from './daemon.ts';
import { blocksIn, read, root } from './documents.ts';
import type { Block } from './documents.ts';
import { operatorToken } from './documents-scenes.ts';
import type { Reader } from './reader.ts';

export interface Program {
  /** What the block's file and first line begin with. */
  readonly block: string;
  readonly needs?: readonly string[];
  run(block: Block, world: World): Promise<void>;
}

export interface World {
  readonly reader: Reader;
  /** Runs a program in the reader's home; answers what it printed. It must end well. */
  readonly ran: (
    words: readonly string[],
    more?: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> },
  ) => Promise<string>;
}

export function worldOf(reader: Reader): World {
  return {
    reader,
    ran: async ([program = '', ...args], { cwd = 'app', env = {} } = {}) => {
      const child = spawn(program, args, {
        cwd: path.join(reader.home, cwd),
        env: reader.env(env),
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
      child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
      const [code] = await once(child, 'close');
      assert.equal(code, 0, stdout + stderr);
      return stdout;
    },
  };
}

/** Port and token that the documents name are those of the reader's runtime. */
const web = (reader: Reader): Record<string, string> => ({
  TRL_URL: reader.origin,
  TRL_AUTH_TOKEN: operatorToken,
});

const script = (block: Block, { reader }: World): string =>
  `set -eu\n${block.text.replaceAll('http://127.0.0.1:7070', reader.origin)}`;

/** What a TypeScript example says in comments that it prints is what it prints. */
async function example(name: string, block: Block, { reader, ran }: World): Promise<string> {
  assert.equal(block.text, read(`docs/examples/${name}`), `${block.at} is docs/examples/${name}`);
  return ran([process.execPath, path.join(root, 'docs/examples', name)], { env: web(reader) });
}

const linesOf = ({ text }: Block): string[] => text.trimEnd().split('\n');

/** A line that shows a message, with something in place of what is left out. */
function messageOf(line: string): Json {
  const [json = ''] = /\{.*\}/.exec(line) ?? [];
  const filled = json
    .replaceAll('{…}', '{}')
    .replaceAll('[…]', '[]')
    .replaceAll(/"([a-z])-…"/g, `"$1-${'0'.repeat(32)}"`)
    .replace('"code":"…"', '"code":"INTERNAL_ERROR"')
    .replace(', … the receipt without output', '');
  return JSON.parse(filled);
}

/** Fails where a message is none of the wire; what is within what is left out is not looked at. */
function isOfWire(shown: Json, schema: z.ZodMiniType, what: string): void {
  const wrong = schema.safeParse(shown).error?.issues.filter((issue) => issue.path.length < 3);
  assert.deepEqual(wrong ?? [], [], what);
}

export const programs: readonly Program[] = [
  {
    block: 'README.md: // Installed: ',
    run: async (block, world) => {
      const [first, missing, ...rest] = (await example('hello.ts', block, world)).split('\n');
      assert.equal(first, 'hello from /tmp');
      assert.match(missing ?? '', /^ls: cannot access '.*\/\.ssh': No such file or directory$/);
      assert.deepEqual(rest.slice(1, 4), ['1', '2', '3']);
      assert.match(rest[0] ?? '', /^2 (?:full|root-uid) off$/);
      assert.match(rest[4] ?? '', /^Cannot run the command: "git push --force" publishes commits/);
    },
  },
  {
    block: 'docs/typescript.md: // Installed: ',
    run: async (block, world) => {
      assert.equal(await example('web.ts', block, world), '0 hello\n1\n2\n3\nsession\n');
    },
  },
  {
    block: 'docs/tools.md: // Installed: ',
    run: async (block, world) => {
      assert.equal(await example('tool.ts', block, world), '{ sum: 3 }\n');
    },
  },
  {
    block: 'README.md: import json, os, socket',
    needs: ['python3'],
    run: async (block, { reader, ran }) => {
      const shown = 'f"/tmp/trl-{os.getuid()}/trl.sock"';
      assert.ok(block.text.includes(shown));
      const text = block.text.replace(shown, JSON.stringify(reader.daemon.socketPath));
      assert.equal(await ran(['python3', '-c', text]), `${path.join(reader.home, 'app')}\n`);
    },
  },
  {
    block: 'clients/python/README.md: import trl',
    needs: ['python3'],
    run: async (_, { reader, ran }) => {
      const [first, second] = blocksIn('clients/python/README.md', 'python');
      const [printed] = blocksIn('clients/python/README.md', 'text');
      const env = { PYTHONPATH: path.join(root, 'clients/python'), PYTHONDONTWRITEBYTECODE: '1' };
      assert.equal(await ran(['python3', '-c', first?.text ?? ''], { env }), printed?.text);
      const over = second?.text.replace('http://127.0.0.1:7070', reader.origin) ?? '';
      assert.ok(over.includes('"trl_..."'));
      const asked = over.replace('trl_...', operatorToken);
      const text = `${asked}print(client.call("system.ping")["version"])`;
      assert.match(await ran(['python3', '-c', text], { env }), /^\d+\.\d+\.\d+/);
    },
  },
  {
    block: 'README.md: trl mcp install --client claude-code',
    run: async (block, world) => {
      const printed = await world.ran(['sh', '-c', script(block, world)]);
      assert.match(printed, /"mcpServers"/);
      await world.ran(['trl', 'mcp', 'uninstall', '--client', 'claude-code']);
    },
  },
  {
    block: 'README.md: trl console',
    run: async (block, world) => {
      const printed = await world.ran(['sh', '-c', script(block, world)]);
      assert.match(printed, /^http:\/\/127\.0\.0\.1:\d+\/#login=[\w-]{43}$/m);
    },
  },
  {
    block: 'docs/http.md: SESSION=$(curl',
    needs: ['curl', 'jq'],
    run: async (block, world) => {
      const words = ['sh', '-c', script(block, world)];
      const { stdout, exit_code: code } = JSON.parse(
        await world.ran(words, { env: web(world.reader) }),
      );
      assert.deepEqual([stdout, code], ['hello\n', 0]);
    },
  },
  {
    block: 'docs/python-rpc.md: import rpc',
    needs: ['python3', 'git', 'npm'],
    run: async (block, { reader }) => {
      using client = await raw(reader.daemon.socketPath);
      const session_id = await newSession(client, { working_dir: path.join(reader.home, 'shop') });
      const [request] = blocksIn('docs/python-rpc.md', 'text');
      const shown = JSON.parse(request?.text ?? '');
      const first = await client.ask(shown.method, { ...shown.params, session_id });
      assert.equal(first.data.stdout, '42\n', JSON.stringify(first));
      const params = { session_id, language: 'python', command: block.text, timeout_s: 60 };
      const { data } = await client.ask('exec.run', params);
      assert.equal(data.exit_code, 0, data.stderr);
      assert.match(data.stdout, /^[0-9a-f]{7} Begin, and fix the sum\n$/);
    },
  },
  {
    block: 'docs/protocol.md: → ',
    run: async (block, { reader }) => {
      const [asked, , refused] = linesOf(block).map((line) => messageOf(line));
      using client = await raw(reader.daemon.socketPath);
      const { data, ...rest } = await client.ask(asked.method, asked.params, asked.id);
      assert.deepEqual(rest, { id: '1', ok: true });
      assert.deepEqual(Object.keys(data).toSorted(), ['uptime_s', 'version']);
      const gone = { session_id: `s-${'0'.repeat(32)}` };
      const answer = await client.ask('session.info', gone, '1');
      assert.deepEqual(Object.keys(answer.error), Object.keys(refused.error));
      assert.equal(answer.error.code, refused.error.code);
      assert.match(answer.error.message, /^Cannot find session s-/);
    },
  },
  {
    block: 'docs/protocol.md: {"stream_id":"x-…"',
    run: async (block, { reader }) => {
      using client = await raw(reader.daemon.socketPath);
      const session_id = await newSession(client);
      const command = String.raw`echo out; printf '\377' >&2; cat`;
      await client.ask('exec.stream', { session_id, command, stdin_open: true });
      const seen: Json[] = [];
      while (seen.at(-1)?.stream !== 'status') seen.push(await client.json());
      await client.send({
        id: 'w',
        method: 'exec.write',
        params: { exec_id: seen[0].stream_id, eof: true },
      });
      while (seen.at(-1)?.stream !== 'exit') {
        const message = await client.json();
        if (!('id' in message)) seen.push(message);
      }
      for (const line of linesOf(block)) {
        const shown = messageOf(line);
        const same = seen.find(
          (one) => one.stream === shown.stream && 'b64' in one === 'b64' in shown,
        );
        // Nothing is lost here: what would tell of it is held against its schema.
        const isOfLoss = shown.stream === 'gap' || shown.lost === true;
        if (isOfLoss) isOfWire(shown, documentSchemas.StreamEvent, line);
        else assert.deepEqual(missing(shown, same), [], line);
      }
    },
  },
  {
    block: 'docs/protocol.md: {"stream_id":"f-…"',
    run: async (block) => {
      for (const line of linesOf(block)) {
        isOfWire(messageOf(line), documentSchemas.FeedMessage, line);
      }
    },
  },
  {
    block: 'docs/audit.md: {"event":{"actor":…',
    run: async (block, { reader }) => {
      const log = path.join(reader.daemon.home, 'state/trl/audit/logs/0/0000000000000000.jsonl');
      const lines = readFileSync(log, 'utf8').split('\n');
      for (const shown of linesOf(block)) {
        const like = likeness(shown);
        assert.ok(
          lines.some((line) => like.test(line)),
          shown,
        );
      }
      const heads = lines
        .filter((line) => line.startsWith('{"head"'))
        .map((line) => JSON.parse(line).head);
      const [tree, , shownHead] = blocksIn('docs/audit.md', 'text');
      const names = /^ +(key|nodes|reserve|lock)\b/gm;
      const files = [...(tree?.text ?? '').matchAll(names)].map(([, name = '']) => name);
      assert.deepEqual(files, ['key', 'nodes', 'reserve', 'lock']);
      for (const name of files) {
        const place = name === 'key' ? path.join(path.dirname(log), '../..') : path.dirname(log);
        assert.ok(existsSync(path.join(place, name)), name);
      }
      const note = shownHead?.text ?? '';
      assert.ok(
        heads.some((head) => likeness(note).test(head)),
        note,
      );
    },
  },
  {
    block: 'docs/audit.md: {"version":1,"log":…',
    run: async (block, { reader }) => {
      const file = path.join(reader.home, 'app/proof.json');
      const shown = JSON.parse(block.text.replace('"log":…', '"log":""').replace(',…]', ']'));
      const proof = JSON.parse(readFileSync(file, 'utf8'));
      for (const key of Object.keys(shown)) {
        assert.equal(typeof proof[key], typeof shown[key], key);
      }
    },
  },
];

/** The fields of `shown` that `came` has not. */
function missing(shown: Json, came: Json): string[] {
  if (typeof shown !== 'object' || shown === null) return [];
  return Object.keys(shown).flatMap((key) =>
    came !== undefined && key in came
      ? missing(shown[key], came[key]).map((one) => `${key}.${one}`)
      : [key],
  );
}

/** What a line with `…`, `<what stands there>` and numbers stands for. */
function likeness(text: string): RegExp {
  const source = text
    .trimEnd()
    .split(/([\w=]*…[\w=]*|<[^>]+>|\d+)/)
    .map((part, index) => {
      if (index % 2 === 0) return RegExp.escape(part);
      return /^\d+$/.test(part) ? '\\d+' : '.*?';
    });
  return new RegExp(`^${source.join('')}\\s*$`, 'u');
}
