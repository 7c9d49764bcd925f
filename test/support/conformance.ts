/** Runs the list of cases that every client must pass (`fixtures/conformance.json`) with ours. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { isTrlError } from '../../src/client/index.ts';
import type { Client, ExecStream, Session } from '../../src/client/index.ts';
import type { Json } from './daemon.ts';

const place = path.join(path.dirname(import.meta.dirname), 'fixtures/conformance.json');

/** Each case as a test of its own; but for those that need more than `offers`. */
export async function conform(
  t: TestContext,
  client: Client,
  offers: readonly string[],
): Promise<void> {
  const { cases }: Json = JSON.parse(readFileSync(place, 'utf8'));
  for (const one of cases) {
    if (one.needs !== undefined && !offers.includes(one.needs)) continue;
    await t.test(one.name, () => run(client, one));
  }
}

async function run(client: Client, { session: params, steps }: Json): Promise<void> {
  const session = params === null ? null : await client.createSession(params);
  const runner = new Case(client, session);
  try {
    for (const [at, step] of steps.entries()) {
      await runner.step(step).catch((cause: unknown) => {
        throw new Error(`step ${at + 1}: ${String(cause)}`, { cause });
      });
    }
  } finally {
    await session?.destroy({ force: true }).catch((error: unknown) => {
      if (!isTrlError(error, 'SESSION_NOT_FOUND')) throw error;
    });
  }
}

class Case {
  readonly #client: Client;
  readonly #session: Session | null;
  readonly #known = new Map<string, Json>();

  constructor(client: Client, session: Session | null) {
    this.#client = client;
    this.#session = session;
    if (session !== null) this.#known.set('session', session.id);
  }

  async step(step: Json): Promise<void> {
    const given = await this.#do(step).catch((error: unknown) => {
      if (!isTrlError(error) || error.code !== step.fails) throw error;
      return { failed: error.data ?? {} };
    });
    const hasFailed = typeof given === 'object' && 'failed' in given;
    if (step.fails !== undefined && !hasFailed) {
      throw new Error(`${step.fails} was wanted, it gave ${shown(given)}`);
    }
    const found = hasFailed ? given.failed : given;
    this.#look(found, (hasFailed ? step.data : step.gives) ?? {});
    for (const [name, at] of Object.entries(step.as ?? {})) {
      this.#known.set(name, valueAt(found, String(at)));
    }
  }

  async #do(step: Json): Promise<Json> {
    const options = this.#filled(step.options ?? {});
    // The list calls what no type of ours has, to see it refused.
    if ('call' in step) return this.#client.call(step.call, this.#filled(step.params));
    if ('attach' in step) {
      const from = step.from ?? 0;
      return gathered(this.#client.attach(this.#filled(step.attach), { from }), from);
    }
    const session = this.#of(step);
    if ('run' in step) return session.run(step.run, options);
    if ('start' in step) return { exec_id: await session.start(step.start, options) };
    return gathered(session.stream(step.stream, options), 0);
  }

  #of(step: Json): Session {
    if (step.of !== undefined) return this.#client.session(this.#filled(step.of));
    if (this.#session === null) throw new Error('the case has no session');
    return this.#session;
  }

  #look(given: Json, wanted: Json): void {
    for (const [at, one] of Object.entries(wanted)) {
      const found = valueAt(given, at);
      if (fits(found, this.#filled(one))) continue;
      throw new Error(`${at}: ${shown(one)} was wanted, got ${shown(found)}`);
    }
  }

  #filled(value: Json): Json {
    if (typeof value === 'string') {
      return value.startsWith('$') ? (this.#known.get(value.slice(1)) ?? value) : value;
    }
    if (Array.isArray(value)) return value.map((item) => this.#filled(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.#filled(item)]),
    );
  }
}

const shown = (value: Json): string => JSON.stringify(value).slice(0, 400);

function valueAt(value: Json, at: string): Json {
  let found = value;
  for (const part of at.split('.')) {
    const isThere = typeof found === 'object' && found !== null && Object.hasOwn(found, part);
    found = isThere ? found[part] : null;
  }
  return found;
}

function fits(found: Json, wanted: Json): boolean {
  if (typeof wanted !== 'object' || wanted === null || Array.isArray(wanted)) {
    return JSON.stringify(found) === JSON.stringify(wanted);
  }
  if ('missing' in wanted) return found === null;
  if ('matches' in wanted) return typeof found === 'string' && RegExp(wanted.matches).test(found);
  if ('has' in wanted) return found?.includes(wanted.has) === true;
  if ('length' in wanted) return found?.length === wanted.length;
  if ('least' in wanted) return (found?.length ?? found) >= wanted.least;
  return wanted.type === 'integer' ? Number.isInteger(found) : typeof found === wanted.type;
}

/** Everything of a stream, and whether each event began where the one before ended. */
async function gathered(stream: ExecStream, from: number): Promise<Json> {
  const kept: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
  let offset: number | null = null;
  let next = from;
  let contiguous = true;
  for await (const event of stream) {
    if (event.type === 'output') {
      offset ??= event.offset;
      contiguous &&= event.offset === next;
      next = event.offset + event.bytes.length;
      kept[event.stream].push(event.bytes);
    } else if (event.type === 'gap') {
      contiguous = false;
      next = event.to;
    }
  }
  const [stdout, stderr] = [String(Buffer.concat(kept.stdout)), String(Buffer.concat(kept.stderr))];
  return { stdout, stderr, offset: offset ?? from, next, contiguous, exit: await stream.exit };
}
