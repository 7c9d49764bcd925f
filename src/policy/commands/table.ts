/** Finds the entry of the knowledge base for a name. */
import { createHash } from 'node:crypto';
import { allowRules } from './data/allowed.ts';
import { fileCommands } from './data/files.ts';
import { networkCommands } from './data/network.ts';
import { outwardCommands } from './data/outward.ts';
import { packageManagerCommands } from './data/packages.ts';
import { powerCommands } from './data/power.ts';
import { remoteCommands } from './data/remote.ts';
import { runnerCommands } from './data/runners.ts';
import { secretShowingCommands } from './data/secrets.ts';
import { shellCommands } from './data/shells.ts';
import { wrapperCommands } from './data/wrappers.ts';
import type { CommandTable, CommandNode } from './schema.ts';

/** All families, in the order of their files. */
export const commandKnowledge: readonly CommandTable[] = [
  fileCommands,
  powerCommands,
  networkCommands,
  outwardCommands,
  remoteCommands,
  packageManagerCommands,
  wrapperCommands,
  runnerCommands,
  shellCommands,
  secretShowingCommands,
];

interface KnownCommand {
  readonly name: string;
  readonly node: CommandNode;
}
interface Table {
  readonly exact: ReadonlyMap<string, KnownCommand>;
  /** `mkfs.*` as `mkfs.`. */
  readonly prefixes: readonly (readonly [string, KnownCommand])[];
}

const tables = new WeakMap<CommandTable, Table>();

function tableOf(commands: CommandTable): Table {
  const made = tables.get(commands);
  if (made !== undefined) return made;
  const exact = new Map<string, KnownCommand>();
  const prefixes: (readonly [string, KnownCommand])[] = [];
  for (const [names, node] of Object.entries(commands)) {
    const all = names.split('|');
    const named: KnownCommand = { name: all[0] ?? names, node };
    for (const name of all) {
      if (name.endsWith('*')) prefixes.push([name.slice(0, -1), named]);
      else exact.set(name.toLowerCase(), named);
    }
  }
  const table: Table = { exact, prefixes };
  tables.set(commands, table);
  return table;
}

/**
 * The node of a command as it is called: `/sbin/mkfs.ext4`, `RM`, `git.exe`; without regard to
 * case. `undefined` for an unknown name.
 */
export function lookUpCommand(called: string): KnownCommand | undefined {
  const name = programBaseName(called).toLowerCase();
  for (const commands of commandKnowledge) {
    const { exact, prefixes } = tableOf(commands);
    const named = exact.get(name) ?? prefixes.find(([prefix]) => name.startsWith(prefix))?.[1];
    if (named !== undefined) return named;
  }
  return undefined;
}

/** `/usr/bin/rm` → `rm`, `C:\x\git.exe` → `git`. */
export function programBaseName(called: string): string {
  const last = called.replace(/^.*[/\\](?=[^/\\])/s, '');
  return last.replace(/\.(?:exe|cmd|bat|com)$/i, '');
}

/** The sub-command meant by `word`: by name, alias, unique prefix (npm), or npm's camel case. */
export function lookUpSubcommand(node: CommandNode, word: string): KnownCommand | undefined {
  if (node.subs === undefined) return undefined;
  const { exact } = tableOf(node.subs);
  const direct = exact.get(word.toLowerCase());
  if (direct !== undefined || node.abbreviates === undefined) return direct;
  const kebab = word.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const names = node.abbreviates.split(' ');
  if (names.includes(kebab)) return exact.get(kebab);
  const candidates = names.filter((name) => name.startsWith(kebab));
  const [only] = candidates;
  return only !== undefined && candidates.length === 1 ? exact.get(only) : undefined;
}

let version: string | null = null;

/**
 * SHA-256 (hex) of all that is known about commands: blocks, wrappers and what is allowed, in the
 * order of the source. It is part of the version of every policy.
 */
export function knowledgeVersion(): string {
  version ??= createHash('sha256')
    .update(JSON.stringify([commandKnowledge, allowRules]))
    .digest('hex');
  return version;
}
