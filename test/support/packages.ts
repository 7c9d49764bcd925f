/**
 * Registries of npm, crates.io, Go and PyPI on loopback, with one tiny package each, and what a
 * project takes to need it.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface Registries extends AsyncDisposable {
  readonly url: string;
}

type Files = Readonly<Record<string, string | Buffer>>;

export async function serveRegistries(): Promise<Registries> {
  const files = new Map<string, string | Buffer>();
  const server = createServer((request, response) => {
    const body = files.get(request.url ?? '');
    // As PyPI and npm say of what never changes.
    response.setHeader('Cache-Control', 'max-age=31536000, immutable');
    response.statusCode = body === undefined ? 404 : 200;
    response.end(body);
  });
  const url = `http://127.0.0.1:${await portOf(server)}`;
  const all = { ...npmFiles(url), ...cargoFiles(url), ...goFiles(), ...pipFiles() };
  for (const [name, body] of Object.entries(all)) files.set(name, body);
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url, [Symbol.asyncDispose]: close };
}

/** What the project at `directory` has of each tool: `npm/`, `cargo/`, `go/`. */
export function writeProjects(directory: string, url: string): void {
  const source =
    '[source.crates-io]\nreplace-with = "tiny"\n' +
    `[source.tiny]\nregistry = "sparse+${url}/index/"\n`;
  const manifest = '[package]\nname = "app"\nversion = "1.0.0"\n[dependencies]\ntiny = "1"\n';
  write(directory, {
    'npm/package.json': '{"name":"app","version":"1.0.0"}',
    'cargo/Cargo.toml': manifest,
    'cargo/src/main.rs': 'fn main() { println!("{}", tiny::one()); }',
    'cargo/.cargo/config.toml': source,
    'go/go.mod': 'module app\n\ngo 1.18\n\nrequire example.test/tiny v1.0.0\n',
  });
}

function npmFiles(url: string): Files {
  const own = { name: 'tiny', version: '1.0.0', main: 'index.js' };
  const tgz = packed('tar', {
    'package/package.json': JSON.stringify(own),
    'package/index.js': 'module.exports = 1;',
  });
  const integrity = `sha512-${createHash('sha512').update(tgz).digest('base64')}`;
  const version = { ...own, dist: { tarball: `${url}/tiny.tgz`, integrity } };
  const about = { name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } };
  return { '/tiny': JSON.stringify(about), '/tiny.tgz': tgz };
}

function cargoFiles(url: string): Files {
  const crate = packed('tar', {
    'tiny-1.0.0/Cargo.toml': '[package]\nname = "tiny"\nversion = "1.0.0"\n',
    'tiny-1.0.0/src/lib.rs': 'pub fn one() -> u8 { 1 }',
  });
  const cksum = createHash('sha256').update(crate).digest('hex');
  const line = { name: 'tiny', vers: '1.0.0', deps: [], cksum, features: {}, yanked: false };
  return {
    '/index/config.json': JSON.stringify({ dl: `${url}/{crate}-{version}.crate` }),
    '/index/ti/ny/tiny': `${JSON.stringify(line)}\n`,
    '/tiny-1.0.0.crate': crate,
  };
}

function goFiles(): Files {
  const mod = 'module example.test/tiny\n\ngo 1.18\n';
  const zip = packed('zip', {
    'example.test/tiny@v1.0.0/go.mod': mod,
    'example.test/tiny@v1.0.0/tiny.go': 'package tiny\n\nfunc One() int { return 1 }\n',
  });
  const at = '/example.test/tiny/@v';
  const info = JSON.stringify({ Version: 'v1.0.0', Time: '2026-01-01T00:00:00Z' });
  return {
    [`${at}/list`]: 'v1.0.0\n',
    [`${at}/v1.0.0.info`]: info,
    [`${at}/v1.0.0.mod`]: mod,
    [`${at}/v1.0.0.zip`]: zip,
  };
}

function pipFiles(): Files {
  const about = 'tiny-1.0.0.dist-info';
  const wheel = packed('zip', {
    'tiny.py': 'one = 1\n',
    [`${about}/METADATA`]: 'Metadata-Version: 2.1\nName: tiny\nVersion: 1.0.0\n',
    [`${about}/WHEEL`]: 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${about}/RECORD`]: `tiny.py,,\n${about}/METADATA,,\n${about}/WHEEL,,\n${about}/RECORD,,\n`,
  });
  return { '/tiny-1.0.0-py3-none-any.whl': wheel };
}

function packed(kind: 'tar' | 'zip', files: Readonly<Record<string, string>>): Buffer {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-packed-'));
  try {
    write(directory, files);
    const names = Object.keys(files);
    if (kind === 'tar') return execFileSync('tar', ['-cz', ...names], { cwd: directory });
    const script =
      'import sys, zipfile\nwith zipfile.ZipFile("out", "w") as z:\n' +
      '  for n in sys.argv[1:]: z.write(n)\n';
    execFileSync('/usr/bin/python3', ['-c', script, ...names], { cwd: directory });
    return readFileSync(path.join(directory, 'out'));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
