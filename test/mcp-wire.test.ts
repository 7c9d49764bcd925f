// What a line of standard input is taken for, and what becomes of a reader that does not read.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { StdioTransport } from '../src/mcp/stdio-transport.ts';
import type { Json } from './support/daemon.ts';

interface Said {
  readonly wire: StdioTransport;
  readonly input: PassThrough;
  readonly output: PassThrough;
  readonly messages: unknown[];
  /** How often it said that it is over. */
  ends: number;
}

async function opened(highWaterMark = 1024 * 1024): Promise<Said> {
  const input = new PassThrough();
  const output = new PassThrough({ highWaterMark });
  const messages: unknown[] = [];
  const said: Said = {
    wire: new StdioTransport(input, output, () => {
      said.ends += 1;
    }),
    input,
    output,
    messages,
    ends: 0,
  };
  Object.assign(said.wire, { onmessage: (message: unknown) => messages.push(message) });
  await said.wire.start();
  return said;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function answersTo(line: string | Uint8Array): Promise<Json[]> {
  const { input, output } = await opened();
  input.write(line);
  input.write('\n');
  await settled();
  const text: string = output.read()?.toString('utf8') ?? '';
  return text
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => JSON.parse(one));
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

test('what is no message is answered, by its id where it has one', async () => {
  const deep = '['.repeat(100) + ']'.repeat(100);
  const rows: readonly (readonly [string | Uint8Array, readonly unknown[]])[] = [
    ['not json', [[null, -32_700]]],
    ['{"jsonrpc":"2.0","id":7,"method":"ping"', [[null, -32_700]]],
    [new Uint8Array([0x22, 0xff, 0x22]), [[null, -32_700]]],
    ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', [[null, -32_700]]],
    [`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${deep}}}`, [[null, -32_700]]],
    ['null', [[null, -32_700]]],
    ['5', [[null, -32_700]]],
    ['{}', [[null, -32_600]]],
    ['{"jsonrpc":"1.0","id":22,"method":"ping"}', [[22, -32_600]]],
    ['{"id":"a","method":"ping"}', [['a', -32_600]]],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', [[null, -32_600]]],
    ['{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}', [[null, -32_600]]],
    ['{"jsonrpc":"2.0","id":3,"method":5}', [[3, -32_600]]],
    ['[]', [[null, -32_600]]],
    ['[1', [[null, -32_700]]],
    [
      JSON.stringify([ping, { ...ping, id: 'b' }, { jsonrpc: '2.0', method: 'x' }]),
      [
        [1, -32_600],
        ['b', -32_600],
      ],
    ],
    ['  [{"jsonrpc":"2.0","method":"notifications/initialized"}]', [[null, -32_600]]],
    // An answer is never answered: two programs would answer each other for ever.
    ['{"jsonrpc":"2.0","id":9,"error":"no object"}', []],
    ['', []],
    [' \t\r', []],
  ];
  for (const [line, wanted] of rows) {
    const found = await answersTo(line);
    const told = found.map(({ id, error }) => [id, error.code]);
    assert.deepEqual(told, wanted, String(line));
    assert.ok(found.every(({ jsonrpc, error }) => jsonrpc === '2.0' && error.message !== ''));
  }
});

test('messages are taken however they are cut, between lines that are none', async () => {
  const { input, messages } = await opened();
  const second = { ...ping, id: 'ünï' };
  const bytes = Buffer.from(
    `${JSON.stringify(ping)}\r\nrubbish\n\n${JSON.stringify(second)}\n${JSON.stringify(ping)}`,
  );
  for (const byte of bytes) input.write(Buffer.from([byte]));
  await settled();
  assert.deepEqual(messages, [ping, second]);
});

test('who reads nothing is given up, and so is a line without an end', async () => {
  const slow = await opened(1);
  const result = { text: 'x'.repeat(1024 * 1024) };
  for (let id = 0; id < 80 && slow.ends === 0; id += 1) {
    await slow.wire.send({ jsonrpc: '2.0', id, result });
  }
  assert.equal(slow.ends, 1);
  await slow.wire.flush();
  assert.equal(slow.output.destroyed, true);
  const long = await opened();
  for (let sent = 0; sent < 9 && long.ends === 0; sent += 1) {
    long.input.write('x'.repeat(1024 * 1024));
    await settled();
  }
  assert.equal(long.ends, 1);
});

test('what was asked before the input ended is answered, its last line too', async () => {
  const said = await opened();
  const { wire, input, output, messages } = said;
  input.write(`${JSON.stringify(ping)}\n`);
  input.end(JSON.stringify({ ...ping, id: 2 }));
  while (messages.length < 2) await settled();
  await wire.send({ jsonrpc: '2.0', id: 1, result: {} });
  assert.equal(said.ends, 0);
  await wire.send({ jsonrpc: '2.0', id: 2, result: {} });
  assert.deepEqual([said.ends, String(output.read()).split('\n').length], [1, 3]);
  const idle = await opened();
  idle.input.end();
  while (idle.ends === 0) await settled();
});
