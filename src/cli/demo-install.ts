/** Which agents are on this machine, and the line that gives them the runtime's tools. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { editedClients } from './mcp-clients.ts';
import type { EditedClient } from './mcp-clients.ts';
import { ownProgram } from './mcp-install-own.ts';
import { quoteWord } from '../quote.ts';

const programs = {
  'claude-code': 'claude',
  codex: 'codex',
  cursor: 'cursor',
  vscode: 'code',
} as const satisfies Record<EditedClient, string>;

/** Those whose program is in PATH. */
export function clientsHere(): EditedClient[] {
  const directories = (process.env['PATH'] ?? '').split(':').filter((one) => path.isAbsolute(one));
  return editedClients.filter((client) =>
    directories.some((directory) => existsSync(path.join(directory, programs[client]))),
  );
}

/** For the first agent that is here; where none is, for the one named first. */
export function installLine(): string {
  const [client = editedClients[0]] = clientsHere();
  return `${ownCommand()} mcp install --client ${client}`;
}

/** How a person types this program. */
export function ownCommand(): string {
  const program = ownProgram();
  const directories = (process.env['PATH'] ?? '').split(':');
  return directories.includes(path.dirname(program)) && path.basename(program) === 'trl'
    ? 'trl'
    : quoteWord(program);
}
