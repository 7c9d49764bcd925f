/**
 * A Python script as it runs: its channel, and where it runs without a sandbox the directory that
 * it starts in. In a sandbox that is a file system in memory that ends with the script's processes.
 */
import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Duplex } from 'node:stream';
import type { Plan } from '../command.ts';
import { TrlError } from '../errors.ts';
import { ScriptChannel } from './script-channel.ts';

export interface OpenScript {
  readonly channel: ScriptChannel;
  /** What cannot be removed stays: without a sandbox nothing is promised. */
  remove(): Promise<void>;
}

/**
 * Gives the script to the interpreter that will start at the other end of `stream`; `null`: the
 * plan is not for a script.
 *
 * @param called passes a call on; `false`: no daemon is connected
 * @throws TrlError `INTERNAL_ERROR` when its directory cannot be made, or is there already
 */
export function openScript(
  plan: Plan,
  stream: Duplex | null,
  called: (call: number, text: string) => boolean,
): OpenScript | null {
  if (stream === null) return null;
  const directory = plan.box.kind === 'none' ? plan.cwd : null;
  try {
    if (directory !== null) mkdirSync(directory, { mode: 0o700 });
  } catch (cause) {
    const message = `Cannot run the script: "${directory}" cannot be made`;
    throw new TrlError('INTERNAL_ERROR', message, { cause });
  }
  return {
    channel: new ScriptChannel(stream, plan.command, called),
    remove: async () => {
      if (directory === null) return;
      await rm(directory, { recursive: true, force: true }).catch(() => {});
    },
  };
}
