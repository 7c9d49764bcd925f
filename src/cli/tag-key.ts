/** The key of tags, for what hides values without a runtime. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openSecretKey, redactionKeyName } from '../approval/key.ts';

/** The installation's, when there is one: equal secrets then have the tags of its receipts. */
export function readTagKey(): Buffer {
  const home = process.env['XDG_STATE_HOME'] || path.join(os.homedir(), '.local', 'state');
  const dir = path.join(home, 'trl');
  const found = statSync(dir, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? openSecretKey(dir, redactionKeyName) : randomBytes(32);
}
