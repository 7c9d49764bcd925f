/** Tools that were registered with the runtime; until it has any, there are none. */
import type { Client } from '../client/index.ts';
import type { Tool } from './tool.ts';

export async function registeredTools(_client: Client): Promise<readonly Tool[]> {
  return [];
}

export async function registeredTool(client: Client, name: string): Promise<Tool | null> {
  return (await registeredTools(client)).find((tool) => tool.name === name) ?? null;
}
