// npm run prove: every program of the tables, through the bridge to servers of this proof: with TLS
// passed through and with TLS terminated, as the rules allow and as they deny. What this machine
// does not have is fetched from registries; what they do not bring is skipped, with the reason.
// TRL_PROGRAMS: only those whose names match. TRL_PROGRAM_TOOLS: a directory with what was fetched.
import { spawnSync } from 'node:child_process';
import { globSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { temporary, whyNoBox } from '../support/box.ts';
import { openCredentialBox } from '../support/credential-box.ts';
import {
  fetchedCredentialPrograms,
  usualCredentialPrograms,
} from '../support/credential-programs.ts';
import { fetchedPrograms, mavenFetch } from '../support/fetched-programs.ts';
import { usualPrograms, type NetworkProgram } from '../support/network-programs.ts';
import { openProgramBox, programWays, type ProgramResult } from '../support/program-ways.ts';
import { openSshServer } from '../support/ssh-server.ts';

const wanted = new RegExp(process.env['TRL_PROGRAMS'] ?? '');
const all: readonly (readonly [string, NetworkProgram])[] = [
  ...Object.entries(usualPrograms),
  ...Object.entries(fetchedPrograms),
];
const programs = all.filter(([name]) => wanted.test(name));
const withCredentials = [
  ...Object.entries(usualCredentialPrograms),
  ...Object.entries(fetchedCredentialPrograms),
].filter(([name]) => wanted.test(name));
type Fetch = keyof NonNullable<NetworkProgram['from']>;

/** Scripts, in the directory of the tools; `"$@"`: the packages. */
const fetches: readonly (readonly [Fetch, string])[] = [
  ['npm', 'npm install --silent --no-audit --no-fund --ignore-scripts --prefix npm "$@"'],
  ['pip', '/usr/bin/python3 -m pip install -q --root-user-action=ignore --target pip "$@"'],
  [
    'deb',
    `mkdir debs && cd debs && apt-get -qq update && apt-get -qq download "$@" &&
     for file in *.deb; do dpkg-deb -x "$file" ../deb; done`,
  ],
  ['maven', mavenFetch],
];

const packagesOf = (kind: Fetch): readonly string[] => [
  ...new Set([...programs, ...withCredentials].flatMap(([, { from }]) => from?.[kind] ?? [])),
];

/** Why something is not there, by its kind. */
function fetchInto(tools: string): ReadonlyMap<string, string> {
  const missing = new Map<string, string>();
  for (const [kind, script] of fetches) {
    const packages = packagesOf(kind);
    if (packages.length === 0) continue;
    mkdirSync(path.join(tools, kind));
    const done = spawnSync('/bin/bash', ['-c', script, 'bash', ...packages], {
      cwd: tools,
      env: { ...process.env, T: tools },
      encoding: 'utf8',
      timeout: 300_000,
    });
    const said = done.stderr.trim().split('\n').at(-1) ?? '';
    if (done.status !== 0) missing.set(kind, `no packages of ${kind} here: ${said.slice(0, 100)}`);
  }
  return missing;
}

const cell = (result: ProgramResult): string => (result.kind === 'failed' ? 'FAILED' : result.kind);

/** What the fetch left out, by its kind. */
interface Tools {
  readonly tools: string;
  readonly missing: ReadonlyMap<string, string>;
}

/** Prints a row, with the reasons below it; the number of failures. */
function printRow(
  name: string,
  results: readonly ProgramResult[],
  whyMissing: string | undefined,
): number {
  console.log(`| ${name} | ${results.map(cell).join(' | ')} |`);
  const skipped = results.flatMap((one) => (one.kind === 'skipped' ? [whyMissing ?? one.why] : []));
  for (const why of new Set(skipped)) console.log(`skipped: ${why}`);
  const failed = results.flatMap((one) => (one.kind === 'failed' ? [one.why] : []));
  for (const why of failed) console.log(`FAILED: ${why}`);
  return failed.length;
}

const kindOf = ({ from }: Pick<NetworkProgram, 'from'>): string => Object.keys(from ?? {})[0] ?? '';

async function proveWays({ tools, missing }: Tools): Promise<number> {
  using stack = new DisposableStack();
  await using box = await openProgramBox({
    tools,
    ssh: async (dir, host) => {
      const program = `${tools}/deb/usr/sbin/sshd`;
      const [libraries = ''] = globSync(`${tools}/deb/usr/lib/*-linux-gnu`);
      const server = await openSshServer({ program, libraries, dir, host });
      if (server !== null) stack.use(server);
      return server?.address ?? null;
    },
  });
  const ways = programWays;
  console.log(`| program | ${ways.map(({ name }) => name).join(' | ')} |`);
  console.log(`| --- |${' --- |'.repeat(ways.length)}`);
  let failures = 0;
  for (const [name, program] of programs) {
    const results: ProgramResult[] = [];
    for (const way of ways) results.push(await box.run(program, way));
    failures += printRow(name, results, missing.get(kindOf(program)));
  }
  return failures;
}

async function proveCredentials({ tools, missing }: Tools): Promise<number> {
  await using box = await openCredentialBox(tools);
  console.log('\n| program with a secret that it never has | the server gets it |\n| --- | --- |');
  let failures = 0;
  for (const [name, program] of withCredentials) {
    failures += printRow(name, [await box.run(program)], missing.get(kindOf(program)));
  }
  return failures;
}

async function prove(): Promise<number> {
  using stack = new DisposableStack();
  const given = process.env['TRL_PROGRAM_TOOLS'];
  const tools = given ?? stack.use(temporary()).path;
  const missing = given === undefined ? fetchInto(tools) : new Map<string, string>();
  return (await proveWays({ tools, missing })) + (await proveCredentials({ tools, missing }));
}

if (whyNoBox !== false) console.log(`skipped: ${whyNoBox}`);
else {
  const failures = await prove();
  console.log(failures === 0 ? 'none FAILED' : `${failures} FAILED`);
  if (failures > 0) process.exitCode = 1;
}
