/** What systemd hands a service (`LoadCredential=`, `SetCredentialEncrypted=`): a file each. */
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { readAll } from './dotenv-source.ts';
import { errnoOf, isVariableName, textOf, unavailable, valueBytesMax } from './source.ts';
import { withoutLineEnd } from './source.ts';
import type { Source } from './source.ts';

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

export class SystemdSource implements Source {
  readonly kind = 'systemd';
  readonly origin: string;
  readonly cacheMs = null;

  /** @param directory `$CREDENTIALS_DIRECTORY`, absolute */
  constructor(directory: string) {
    this.origin = directory;
  }

  /** A service that is to have others is started anew. */
  mark(): string {
    return '';
  }

  /** Credentials whose name can be that of a variable. */
  async names(): Promise<readonly string[]> {
    try {
      return (await readdir(this.origin)).filter(isVariableName);
    } catch (cause) {
      throw unavailable(`read credentials from "${this.origin}"`, `${errnoOf(cause)}`, cause);
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
      throw unavailable(action, `${errnoOf(cause)}`, cause);
    }
    try {
      if (!fstatSync(fd).isFile()) throw unavailable(action, 'it is no regular file');
      return withoutLineEnd(textOf(readAll(fd, valueBytesMax), action));
    } finally {
      closeSync(fd);
    }
  }
}
