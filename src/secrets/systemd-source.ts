/** What systemd hands a service (`LoadCredential=`, `SetCredentialEncrypted=`): a file each. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { readSecretBytes } from './dotenv-source.ts';
import {
  errnoOf,
  isVariableName,
  decodeSecretText,
  secretUnavailableError,
  secretValueBytesMax,
} from './source.ts';
import { withoutLineEnd } from './source.ts';
import type { SecretSource } from './source.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export class SystemdSource implements SecretSource {
  readonly kind = 'systemd';
  readonly origin: string;
  readonly cacheMs = null;

  /** @param directory `$CREDENTIALS_DIRECTORY`, absolute */
  constructor(directory: string) {
    this.origin = directory;
  }

  /** A service must restart to get others. */
  mark(): string {
    return '';
  }

  /** Credentials whose name can be that of a variable. */
  async names(): Promise<readonly string[]> {
    try {
      return (await readdir(this.origin)).filter(isVariableName);
    } catch (cause) {
      throw secretUnavailableError(
        `read credentials from "${this.origin}"`,
        `${errnoOf(cause)}`,
        cause,
      );
    }
  }

  async read(name: string): Promise<string | null> {
    if (!isVariableName(name)) return null;
    const action = `read the secret ${name} from the credentials of systemd`;
    let fd: number;
    try {
      fd = openSync(path.join(this.origin, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch (cause) {
      if (errnoOf(cause) === 'ENOENT') return null;
      throw secretUnavailableError(action, `${errnoOf(cause)}`, cause);
    }
    try {
      if (!fstatSync(fd).isFile()) throw secretUnavailableError(action, 'it is no regular file');
      return withoutLineEnd(decodeSecretText(readSecretBytes(fd, secretValueBytesMax), action));
    } finally {
      closeSync(fd);
    }
  }
}
