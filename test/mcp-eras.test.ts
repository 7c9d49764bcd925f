// The official client in both eras, over stdio and over HTTP, does what an agent does.
import assert from 'node:assert/strict';
import { mkdirSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client as McpClient } from '@modelcontextprotocol/client';
import type { ApprovalId } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { builtinTools } from '../src/tools/index.ts';
import { startHttp } from './support/http.ts';
import type { HttpDaemon } from './support/http.ts';
import { callOf, httpTo, mcpClient, nobody, stdioOf } from './support/mcp.ts';
import type { Era, Person } from './support/mcp.ts';

let daemon: HttpDaemon;
before(async () => {
  daemon = await startHttp();
  writeFileSync(path.join(daemon.root, 'lines'), lines);
});
after(async () => {
  await daemon?.stop();
});

/** Policy lets an agent read without asking. */
const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at + 1} of many\n`).join('');
const eras: readonly Era[] = ['2025-11-25', '2026-07-28'];

/** As a person does with `trl approvals`. */
async function decide(id: ApprovalId, decision: 'approve' | 'deny'): Promise<void> {
  await using runtime = await connectLocal({ socketPath: daemon.socketPath });
  const { approval_id, digest } = await runtime.approval(id);
  await runtime.decide({ approval_id, decision, digest: digest.slice(0, 8) });
}

const approve = (id: ApprovalId): Promise<void> => decide(id, 'approve');

/** Connects, hands the client over, and leaves. */
async function talk(
  way: 'stdio' | 'http',
  era: Era,
  person: Person,
  then: (client: McpClient) => Promise<void>,
): Promise<void> {
  const client = mcpClient(era, person);
  await client.connect(way === 'stdio' ? stdioOf(daemon) : httpTo(daemon));
  try {
    await then(client);
  } finally {
    await client.close();
  }
}

for (const era of eras) {
  for (const way of ['stdio', 'http'] as const) {
    const what = 'a session, all of its output, a cancelled call, a question without a form';
    test(`${era} over ${way}: ${what}`, async () => {
      await talk(way, era, nobody(), async (client) => {
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map(({ name }) => name),
          builtinTools.map(({ name }) => name),
        );
        const first = await callOf(client, 'terminal', { command: 'pwd' });
        assert.equal(first.stdout, `${daemon.root}\n`);
        const again = await callOf(client, 'terminal', { command: 'pwd' });
        assert.equal(again.session_id, first.session_id);

        const counts: number[] = [];
        const onprogress = ({ progress }: { progress: number }): void => {
          counts.push(progress);
        };
        const long = { command: 'cat lines' };
        let cut = await callOf(client, 'terminal_exec', long, { onprogress });
        assert.equal(cut.truncated, true, cut.text);
        // The client's library drops progress that it reads together with the result.
        for (let more = 20; counts.length === 0 && more > 0; more -= 1) {
          cut = await callOf(client, 'terminal_exec', long, { onprogress });
        }
        assert.ok(counts.length > 0, 'no progress was told');
        assert.deepEqual(
          counts,
          counts.toSorted((a, b) => a - b),
        );
        let read = '';
        for (let from = 0; from < cut.stdout_bytes;) {
          const piece = await callOf(client, 'terminal_output', { exec_id: cut.exec_id, from });
          read += piece.output;
          from = piece.next;
        }
        assert.equal(read, lines);

        const endless = { command: 'sleep 300' };
        const asked = await callOf(client, 'terminal_exec', endless);
        assert.equal(asked.status, 'waiting', asked.text);
        await approve(asked.approval_id);
        const stop = new AbortController();
        const options = { signal: stop.signal, onprogress: () => stop.abort() };
        await assert.rejects(callOf(client, 'terminal_exec', endless, options));
        await using runtime = await connectLocal({ socketPath: daemon.socketPath });
        const end = await runtime.attach(asked.exec_id).drain();
        assert.equal(end.stopped, 'cancelled');
        await attachesByCallingAgain(client, `log-${era}-${way}`);
      });
    });
  }
}

for (const era of eras) {
  for (const way of ['stdio', 'http'] as const) {
    test(`${era} over ${way}: asked, refused, let through, and resumed by another`, async () => {
      // Over HTTP the 2025 era has no way back to the client: its answer is text.
      const isTold = era === '2025-11-25' && way === 'http';
      const name = `${way}-${era}`;
      const person: Person = { says: isTold ? null : 'decline', seen: [] };
      const args = { command: `seq -f 'row %g' 1 3000 | tee ${name}` };
      // What a person said no to stays refused in its session: the next one is another command.
      const next = { command: `${args.command} ${name}-2` };
      let execId = '';
      await talk(way, era, person, async (client) => {
        const refused = await callOf(client, 'terminal_exec', args);
        if (isTold) {
          assert.match(refused.text, /trl approvals approve a-[0-9a-f]{32}/);
          await decide(refused.approval_id, 'deny');
          const told = await callOf(client, 'terminal_output', { exec_id: refused.exec_id });
          assert.match(told.text, /^\[refused/);
        } else {
          assert.equal(refused.error?.code, 'APPROVAL_DENIED', refused.text);
          assert.ok(person.seen[0]?.includes(args.command), person.seen[0]);
        }
        assert.equal(existsSync(path.join(daemon.root, name)), false);

        person.says = person.says === null ? null : 'cancel';
        const waiting = await callOf(client, 'terminal_exec', next);
        assert.equal(waiting.status, 'waiting', waiting.text);
        await decide(waiting.approval_id, 'approve');
        const output = { exec_id: waiting.exec_id, max: 100, wait_ms: 60_000 };
        const begun = await callOf(client, 'terminal_output', output);
        assert.equal(begun.output.slice(0, 12), 'row 1\nrow 2\n', begun.text);
        execId = waiting.exec_id;
      });
      const whole = Array.from({ length: 3_000 }, (_, at) => `row ${at + 1}\n`).join('');
      // A server on stdio takes what it began along when it ends; a token's commands stay.
      if (way === 'stdio') return;
      await talk(way, era, nobody(), async (client) => {
        let read = '';
        for (let from = 100; ;) {
          const asked = { exec_id: execId, from, wait_ms: 60_000 };
          const piece = await callOf(client, 'terminal_output', asked);
          read += piece.output;
          if (piece.next === from && piece.exit_code !== undefined) break;
          from = piece.next;
        }
        assert.equal(read, whole.slice(100));
      });
    });
  }

  test(`${era}: what a person must see is asked, and runs only on their yes`, async () => {
    const file = path.join(daemon.root, `made-${era}`);
    const command = `touch made-${era}`;
    const person: Person = { says: 'deny', seen: [] };
    await talk('stdio', era, person, async (client) => {
      for (const says of ['deny', 'decline'] as const) {
        person.says = says;
        const refused = await callOf(client, 'terminal_exec', { command });
        assert.equal(refused.error?.code, 'APPROVAL_DENIED', refused.text);
        assert.ok(person.seen.at(-1)?.includes(`\n    ${command}\n`), person.seen.at(-1));
      }
      assert.equal(person.seen.length, 2);
      person.says = 'cancel';
      const open = await callOf(client, 'terminal_exec', { command });
      assert.equal(open.status, 'waiting', open.text);
      assert.equal(existsSync(file), false);
      person.says = 'approve';
      const done = await callOf(client, 'terminal_exec', { command });
      assert.equal(done.exit_code, 0, done.text);
    });
    assert.equal(existsSync(file), true);
    rmSync(file);
  });
}

for (const era of eras) {
  test(`${era}: progress grows with each notice, also while a call waits`, async () => {
    await talk('stdio', era, nobody(), async (client) => {
      const begun = Promise.withResolvers<void>();
      const command = `while [ ! -e go-${era} ]; do sleep 0.05; done`;
      const onbegun = { onprogress: () => begun.resolve() };
      const first = callOf(client, 'terminal', { command }, onbegun);
      await begun.promise;
      const counts: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => {
        const go = { path: `go-${era}`, content: '' };
        if (counts.push(progress) === 4) void callOf(client, 'write', go);
      };
      const next = await callOf(client, 'terminal', { command: 'echo next' }, { onprogress });
      assert.equal(next.stdout, 'next\n', next.text);
      assert.equal((await first).exit_code, 0);
      assert.ok(counts.length >= 4);
      for (const [at, count] of counts.slice(1).entries()) {
        assert.ok(count > (counts[at] ?? 0), counts.join(', '));
      }
    });
  });
}

test('a server offers the general tools alone, or has all of them pass guarded', async () => {
  const client = mcpClient('2026-07-28', nobody());
  await client.connect(stdioOf(daemon, { tools: 'general' }));
  const { tools } = await client.listTools();
  const strict = ['terminal_exec', 'python_rpc'];
  assert.deepEqual(
    tools.map(({ name }) => name),
    builtinTools.map(({ name }) => name).filter((name) => !strict.includes(name)),
  );
  const refused = await callOf(client, 'terminal_exec', { command: 'pwd' });
  assert.match(refused.text, /INVALID_PARAMS: Cannot call terminal_exec/);
  await client.close();
  const strictly = mcpClient('2026-07-28', nobody());
  await strictly.connect(stdioOf(daemon, { tools: 'strict' }));
  const asked = await callOf(strictly, 'terminal', { command: 'touch never' });
  assert.equal(asked.status, 'waiting', asked.text);
  await strictly.close();
});

for (const era of eras) {
  test(`${era}: a server that was started in the home directory says what to do`, async () => {
    const client = mcpClient(era, nobody());
    await client.connect(stdioOf(daemon, { own: true, cwd: daemon.home, home: daemon.home }));
    const { tools } = await client.listTools();
    assert.equal(tools.length, builtinTools.length);
    const refused = await callOf(client, 'terminal', { command: 'ls' });
    assert.deepEqual([refused.isError, refused.error.code], [true, 'INVALID_PARAMS']);
    assert.match(refused.text, /"--cwd", "\/path\/to\/project"/);
    await client.close();
  });
}

test('in the home directory the project is what the client has open', async () => {
  const project = path.join(daemon.root, 'open in the editor');
  mkdirSync(project);
  const client = mcpClient('2025-11-25', nobody(), [daemon.home, project]);
  await client.connect(stdioOf(daemon, { own: true, cwd: daemon.home, home: daemon.home }));
  const { text } = await callOf(client, 'terminal', { command: 'pwd' });
  assert.ok(text.includes(project), text);
  await client.close();
});

/** Who shows no forms is told what waits, and attaches by calling again. */
async function attachesByCallingAgain(client: McpClient, name: string): Promise<void> {
  const args = { command: `echo once >> ${name}` };
  const waiting = await callOf(client, 'terminal_exec', args);
  assert.equal(waiting.status, 'waiting');
  assert.equal(waiting.isError, false);
  assert.match(waiting.text, /trl approvals approve a-[0-9a-f]{32}/);
  const same = await callOf(client, 'terminal_exec', args);
  assert.equal(same.approval_id, waiting.approval_id);
  await approve(waiting.approval_id);
  const output = { exec_id: waiting.exec_id, wait_ms: 60_000 };
  await callOf(client, 'terminal_output', output);
  const done = await callOf(client, 'terminal_exec', args);
  assert.equal(done.exec_id, waiting.exec_id);
  assert.equal(done.exit_code, 0, done.text);
  assert.equal(readFileSync(path.join(daemon.root, name), 'utf8'), 'once\n');
}

test('a yes for the session, given in the form, holds for equal commands of it', async () => {
  const person: Person = { says: 'approve', scope: 'session', seen: [] };
  await talk('stdio', '2025-11-25', person, async (client) => {
    const args = { command: 'echo again >> for-the-session' };
    assert.equal((await callOf(client, 'terminal_exec', args)).exit_code, 0);
    assert.equal((await callOf(client, 'terminal_exec', args)).exit_code, 0);
    assert.equal(person.seen.length, 1);
    person.scope = 'once';
    await callOf(client, 'terminal_exec', { command: 'echo other >> for-the-session' });
    await callOf(client, 'terminal_exec', { command: 'echo other >> for-the-session' });
    assert.equal(person.seen.length, 3);
  });
});
