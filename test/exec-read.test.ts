// Lines of a command's output, looked for in all that is held of it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { LineSearch } from '../src/daemon/executions/line-search.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool } from '../src/tools/index.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { openSession, type TestSession } from './support/session.ts';

let daemon: Daemon;
before(async () => {
  daemon = await startRuntime();
});
after(() => daemon.stop());

interface Written {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/** The lines of both streams by where they begin, as a reader of everything finds them. */
function linesOf(written: readonly Written[]): Map<number, string> {
  const found = new Map<number, string>();
  const open = new Map<string, number>();
  let offset = 0;
  for (const { stream, text } of written) {
    for (const character of text) {
      const start = open.get(stream) ?? offset;
      found.set(start, `${found.get(start) ?? ''}${character}`);
      open.set(stream, start);
      if (character === '\n') open.delete(stream);
      offset += 1;
    }
  }
  return found;
}

const piece = fc.record({
  stream: fc.constantFrom<Written['stream'][]>('stdout', 'stderr'),
  text: fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 9 }),
});

test('however output is cut, the lines are those of a reader of all of it', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 12 }),
      fc.constantFrom(null, 'b', 'ab'),
      fc.constantFrom(null, 1, 3),
      (written, grep, tail) => {
        const search = new LineSearch({ grep, tail, max: 1_000 });
        let offset = 0;
        for (const { stream, text } of written) {
          search.take(stream, offset, Buffer.from(text));
          offset += text.length;
        }
        const { pieces, next, omitted } = search.result(offset);
        const all = [...linesOf(written).values()].filter((line) => line.includes(grep ?? ''));
        const text = pieces.map(({ bytes }) => bytes.toString()).join('');
        const sorted = (one: string): string => one.split('').toSorted().join('');
        if (tail === null) assert.equal(sorted(text), sorted(all.join('')));
        else assert.ok((text.match(/\n/g) ?? []).length <= tail);
        assert.deepEqual([next, omitted], [offset, 0]);
      },
    ),
  );
});

test('what is answered is bounded, and the rest is said', () => {
  const search = new LineSearch({ grep: null, tail: 3, max: 10 });
  search.take('stdout', 0, Buffer.from('one\ntwo\nthree\nfour\n'));
  const { pieces, omitted } = search.result(19);
  assert.equal(pieces.map(({ bytes }) => bytes.toString()).join(''), 'four\n');
  assert.equal(omitted, 2);
  const first = new LineSearch({ grep: 'o', tail: null, max: 10 });
  assert.equal(first.take('stdout', 0, Buffer.from('one\ntwo\nthree\nfour\n')), false);
  assert.equal(first.result(19).next, 14);
  const long = new LineSearch({ grep: 'end', tail: null, max: 4 });
  for (let at = 0; at < 100; at += 1) long.take('stdout', at, Buffer.from('x'));
  long.take('stdout', 100, Buffer.from('end\n'));
  const cut = long.result(104);
  assert.equal(Buffer.concat(cut.pieces.map(({ bytes }) => bytes)).toString(), 'xxxx');
  assert.deepEqual([cut.next, cut.omitted], [104, 1]);
});

const textOf = ({ data }: Json): string =>
  data.chunks.map((chunk: { data: string }) => chunk.data).join('');

async function ended(session: TestSession, command: string, more: object = {}): Promise<string> {
  const { exec_id: id } = await session.run(command, more);
  return id;
}

describe('of a megabyte of output', { skip: whyNoBox }, () => {
  test('the last lines are the last ones, and a line is found wherever it is', async () => {
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const id = await ended(session, 'seq 100000 190000; echo the needle; seq 200000 299999');
    const read = (more: object): Promise<Json> =>
      session.client.ask('exec.read', { exec_id: id, ...more });
    assert.equal(textOf(await read({ tail: 2 })), '299998\n299999\n');
    assert.equal(textOf(await read({ grep: 'needle' })), 'the needle\n');
    const few = await read({ grep: '99999', max: 10 });
    assert.equal(textOf(few), '299999\n');
    await using client = await connectLocal({ socketPath: daemon.socketPath });
    const never = (): Promise<never> => Promise.reject(new Error('no session is asked for'));
    const context = {
      client,
      signal: AbortSignal.timeout(240_000),
      progress: () => {},
      workspace: { root: daemon.root },
      sessions: {
        session: never,
        cachedSession: never,
        newSession: never,
        networkSession: never,
        hostsSession: never,
        queuedExecutions: new Map(),
      },
    };
    const tool = await callTool(context, 'terminal_output', { exec_id: id, tail: 1 });
    assert.equal(tool.data['output'], '299999\n');
    const found = await callTool(context, 'terminal_output', { exec_id: id, grep: 'needle' });
    assert.equal(found.data['output'], 'the needle\n');
  });

  test('bytes that are gone are said with the lines', async () => {
    await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
    const limits = { journal_bytes: 65_536 };
    const id = await ended(session, 'seq 100000 200000', { limits });
    const { data } = await session.client.ask('exec.read', { exec_id: id, tail: 1 });
    assert.equal(textOf({ data }), '200000\n');
    assert.equal(data.gap.from, 0);
    assert.ok(data.gap.to > 600_000, JSON.stringify(data.gap));
  });
});

test('a terminal has a size before what is typed next', { skip: whyNoBox }, async () => {
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root });
  const { client } = session;
  const command = 'stty -echo; stty size; while read -r _; do stty size; done';
  const exec_id = await session.start(command, { pty: { columns: 80, rows: 24 } });
  let wanted = '24 80';
  let from = 0;
  for (let columns = 100; columns <= 110; columns += 1) {
    let text = '';
    while (!text.endsWith('\n')) {
      const { data } = await client.ask('exec.read', { exec_id, from, wait_ms: 60_000 });
      text += data.chunks.map((chunk: Json) => chunk.data).join('');
      from = data.next;
    }
    assert.equal(text.trim(), wanted);
    wanted = `30 ${columns}`;
    await client.ask('exec.resize', { exec_id, columns, rows: 30 });
    await client.ask('exec.write', { exec_id, data: '\n' });
  }
});
