/** The files of a signed statement, for the picture of it. The statement is not verified here. */
import { fieldOf } from '../../json-shape.ts';
import { fromBase64, decodeUtf8 } from '../../client/bytes.ts';
import type { AuditEventView } from '../../client/index.ts';

export interface StatementFile {
  readonly name: string;
  /** SHA-256 (hex); `null`: not reported. */
  readonly sha256: string | null;
}
export interface CommandStatement {
  readonly command: string;
  readonly exitCode: number | null;
  /** What it could read or ran, and what it left. */
  readonly materials: readonly StatementFile[];
  readonly products: readonly StatementFile[];
  /** Deleted, or replaced by something without content. */
  readonly gone: readonly StatementFile[];
}

/** `null`: the event is not a statement, or is unreadable. */
export function readCommandStatement(event: AuditEventView): CommandStatement | null {
  const payload = textAt(fieldOf(event.data, 'envelope'), 'payload');
  if (event.kind !== 'exec.statement' || payload === null) return null;
  try {
    const statement: unknown = JSON.parse(decodeUtf8(fromBase64(payload)));
    const predicate = fieldOf(statement, 'predicate');
    const code = fieldOf(fieldOf(predicate, 'result'), 'exit_code');
    return {
      command: textAt(fieldOf(predicate, 'command'), 'text') ?? '',
      exitCode: typeof code === 'number' ? code : null,
      materials: statedIn(fieldOf(predicate, 'materials')),
      products: statedIn(fieldOf(statement, 'subject')),
      gone: statedIn(fieldOf(fieldOf(predicate, 'changes'), 'others')),
    };
  } catch {
    return null;
  }
}

function statedIn(list: unknown): StatementFile[] {
  if (!Array.isArray(list)) return [];
  return list.map((each: unknown) => ({
    name: textAt(each, 'name') ?? textAt(each, 'uri') ?? '?',
    sha256: textAt(fieldOf(each, 'digest'), 'sha256'),
  }));
}

function textAt(value: unknown, name: string): string | null {
  const found = fieldOf(value, name);
  return typeof found === 'string' ? found : null;
}
