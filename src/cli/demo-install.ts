/** Which agents are on this machine, and the line that gives them the runtime's tools. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { editableClients } from './mcp-clients.ts';
import type { EditableClient } from './mcp-clients.ts';
import { ownProgramPath } from './mcp-install-own.ts';
import { quoteWord } from '../quote.ts';

const programs = {
  'claude-code': 'claude',
  codex: 'codex',
  cursor: 'cursor',
  vscode: 'code',
} as const satisfies Record<EditableClient, string>;

/** Those whose program is in PATH. */
export function findInstalledClients(): EditableClient[] {
  const directories = (process.env['PATH'] ?? '').split(':').filter((one) => path.isAbsolute(one));
  return editableClients.filter((client) =>
    directories.some((directory) => existsSync(path.join(directory, programs[client]))),
  );
}

/** For the first agent that is here; where none is, for the one named first. */
export function mcpInstallLine(): string {
  const [client = editableClients[0]] = findInstalledClients();
  return `${ownCommandName()} mcp install --client ${client}`;
}

/** How a person types this program. */
export function ownCommandName(): string {
  const program = ownProgramPath();
  const directories = (process.env['PATH'] ?? '').split(':');
  return directories.includes(path.dirname(program)) && path.basename(program) === 'trl'
    ? 'trl'
    : quoteWord(program);
}
