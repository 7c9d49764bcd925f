/** Where the address of a remote leads: two of one place contact nobody else. Pure. */

interface Address {
  readonly host: string;
  readonly path: string;
  /** What is sent is encrypted, and the host is who it says. */
  readonly isSafe: boolean;
}

const written = /^([a-z][a-z\d+]*):\/\/(?:[^@/]*@)?(\[[\da-f:]+\]|[\w.-]+)(?::(\d*))?(\/.*)$/i;
/** `git@host:path`, as ssh takes it. */
const short = /^(?:[\w.+-]+@)?([\w][\w.-]*):(?!:)(.+)$/;
const safePorts: ReadonlyMap<string, string> = new Map([
  ['https', '443'],
  ['ssh', '22'],
  ['git+ssh', '22'],
  ['ssh+git', '22'],
]);

/** `null`: a path of this machine, or nothing that is known. */
function addressOf(url: string): Address | null {
  const full = written.exec(url);
  if (full !== null) {
    const [, scheme = '', host = '', port = '', path = ''] = full;
    if (scheme.toLowerCase() === 'file' || host.startsWith('-')) return null;
    const usual = safePorts.get(scheme.toLowerCase());
    const isUsual = usual !== undefined && (port === '' || port === usual);
    const at = isUsual ? host : `${scheme}://${host}:${port}`;
    return { host: at.toLowerCase(), path: bare(path), isSafe: usual !== undefined };
  }
  const found = url.includes('://') ? null : short.exec(url);
  if (found === null) return null;
  return { host: (found[1] ?? '').toLowerCase(), path: bare(found[2] ?? ''), isSafe: true };
}

function bare(path: string): string {
  return path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
}

/** The host that an address contacts; `null`: none. */
export function remoteHostOf(url: string): string | null {
  return addressOf(url)?.host ?? null;
}

/** Whether one address leads to the repository of another, and is as safe on the way. */
export function isSameRepository(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [addressOf(one), addressOf(other)];
  return a !== null && b !== null && a.isSafe && b.isSafe && a.host === b.host && a.path === b.path;
}
