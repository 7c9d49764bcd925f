/**
 * `trl policy explain --stdin`. A line in is `{"id":"1","shell":"bash","command":"git push"}`, a
 * line out `{"id":"1","decision":"block","rules":[…]}`, in the same order. `id` may be any text or
 * number; without `shell` it is the one asked for. A line that cannot be read is answered by
 * `{"id":null,"error":"…"}`.
 */
import { once } from 'node:events';
import type { JudgedShell, Verdict } from '../command.ts';
import { explainText, findJudgedShell } from '../policy/explain.ts';
import type { Policy } from '../policy/policy.ts';
import { isJsonObject } from '../protocol/json.ts';
import { LineReader } from '../protocol/lines.ts';

const lineBytesMax = 2 ** 23;
/** Verdicts under way at once: those on Python wait for a process. */
const windowMax = 4;
const outputBytesMax = 64 * 1024;

/** Answers every line of standard input, then settles. Memory stays bounded. */
export async function explainStdinLines(policy: Policy, shell: JudgedShell): Promise<void> {
  const window: Promise<string>[] = [];
  let output = '';
  let isRead = true;
  process.stdout.once('close', () => (isRead = false));
  const flush = async (): Promise<void> => {
    const written = process.stdout.write(output);
    output = '';
    // The reader may go away instead: then nobody wants the rest.
    if (!written && isRead) await once(process.stdout, 'drain').catch(() => (isRead = false));
  };
  const settleTo = async (length: number): Promise<void> => {
    while (window.length > length) {
      output += `${await window.shift()}\n`;
      if (output.length > outputBytesMax) await flush();
    }
  };
  for await (const line of lines(process.stdin)) {
    window.push(answer(policy, shell, line));
    await settleTo(windowMax);
    if (!isRead) return;
  }
  await settleTo(0);
  await flush();
}

async function* lines(input: AsyncIterable<Uint8Array>): AsyncGenerator<string | null> {
  const reader = new LineReader(lineBytesMax);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (bytes: Uint8Array): string | null => {
    try {
      return decoder.decode(bytes);
    } catch {
      return null;
    }
  };
  for await (const chunk of input) {
    reader.feed(chunk);
    for (let line = reader.take(); line !== null; line = reader.take()) {
      yield line.kind === 'long' ? null : decode(line.bytes);
    }
  }
  const rest = reader.takeRest();
  if (rest.length > 0) yield decode(rest);
}

async function answer(policy: Policy, shell: JudgedShell, line: string | null): Promise<string> {
  const asked = read(line, shell);
  if (typeof asked === 'string') return JSON.stringify({ id: null, error: asked });
  try {
    const verdict = await explainText(policy, asked.shell, asked.command);
    return JSON.stringify({ id: asked.id, ...told(verdict) });
  } catch (error) {
    // A text that breaks the analysis is never allowed.
    const reason = error instanceof Error ? error.message : String(error);
    return JSON.stringify({ id: asked.id, decision: 'ask', rules: [], error: reason });
  }
}

function told({ decision, rules, runs, notes }: Verdict): object {
  return { decision, rules, ...(runs === null ? {} : { runs }), notes };
}

interface ExplainRequest {
  readonly id: string | number;
  readonly shell: JudgedShell;
  readonly command: string;
}

/** What is asked, or why the line cannot be read. */
function read(line: string | null, usual: JudgedShell): ExplainRequest | string {
  if (line === null) return `the line is not UTF-8, or longer than ${lineBytesMax} bytes`;
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return 'the line is not JSON';
  }
  if (!isJsonObject(found)) return 'the line must be an object';
  const { id, command } = found;
  if (typeof id !== 'string' && typeof id !== 'number') return '"id" must be a text or a number';
  if (typeof command !== 'string') return '"command" must be a text';
  const name = found['shell'] ?? usual;
  const shell = typeof name === 'string' ? findJudgedShell(name) : null;
  return shell === null ? '"shell" is none that is known' : { id, shell, command };
}
