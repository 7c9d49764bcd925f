/**
 * Which hosts the commands of a text imply, so that a person is asked about them before the start.
 * It allows nothing: a host that it misses is refused while the command runs, and a false match is
 * one more host in a question. Pure.
 */
import { hostRulesMax, parseHostRule, webPorts } from '../network/host-rules.ts';
import { hostPresets, type HostPresetName } from '../network/presets.ts';
import { parseCommandOptions } from './commands/options.ts';
import { lookUpCommand, programBaseName } from './commands/table.ts';
import type { CommandInvocation } from './rules.ts';

/** A static argument; dynamic ones lead to no host. */
interface Argument {
  readonly value: string;
  readonly pieces: readonly string[];
}

/** The arguments of one program. */
interface ProgramCall {
  readonly program: string;
  readonly words: readonly string[];
  /** Words that are no options and no values of known options, as indexes. */
  readonly operands: readonly number[];
}

interface Registry {
  readonly preset: HostPresetName;
  /** First operands that reach it; `null`: any. The empty word: there is no operand. */
  readonly subcommands: ReadonlySet<string> | null;
}

const registry = (preset: HostPresetName, subcommands: string | null): Registry => ({
  preset,
  subcommands: subcommands === null ? null : new Set(subcommands.split(' ')),
});
/** Where a registry is reached without a subcommand, too. */
const orNone = ({ preset, subcommands }: Registry): Registry => ({
  preset,
  subcommands: new Set([...(subcommands ?? []), '']),
});

const npm = registry(
  'npm',
  'install i in add ci install-test it install-ci-test cit update up upgrade outdated view info ' +
    'show audit init create exec x dlx dedupe publish fetch search',
);
const pip = registry('pypi', 'install download wheel index search');
const maven = registry('maven', null);
const debian = registry(
  'debian',
  'update install upgrade full-upgrade dist-upgrade build-dep source',
);

const registries: ReadonlyMap<string, Registry> = new Map([
  ['npm', npm],
  ['pnpm', npm],
  ['yarn', orNone(npm)],
  ['bun', npm],
  ['npx', registry('npm', null)],
  ['pnpx', registry('npm', null)],
  ['bunx', registry('npm', null)],
  ['pip', pip],
  ['uv', registry('pypi', 'sync add lock pip run tool build')],
  ['uvx', registry('pypi', null)],
  ['poetry', registry('pypi', 'install add update lock')],
  ['pipx', registry('pypi', 'install run upgrade upgrade-all inject')],
  [
    'cargo',
    registry('crates', 'fetch build b check c test t run r install add update search publish'),
  ],
  ['go', registry('go', 'get install build mod run test')],
  ['mvn', maven],
  ['mvnw', maven],
  ['gradle', maven],
  ['gradlew', maven],
  ['gem', registry('rubygems', 'install update fetch outdated search')],
  ['bundle', orNone(registry('rubygems', 'install update add outdated lock'))],
  ['bundler', orNone(registry('rubygems', 'install update add outdated lock'))],
  ['apt', debian],
  ['apt-get', debian],
  ['gh', registry('github', null)],
]);

const offline = new Set(['--offline', '--no-index', '--help', '-h', '--version']);
/** Short words of Maven for it; elsewhere they mean something else. */
const mavenOffline = '-o';

const gitRemotes = new Set(['clone', 'fetch', 'pull', 'push', 'ls-remote', 'submodule', 'remote']);
/** `user@host:path`, or `host:path`; not `C:path`, and no path before the colon. */
const copied = /^(?:[\w.-]+@)?([\w.-]{2,}):(?!\/\/)/;
/** A name as curl and wget take it without a scheme. */
const bareAddress = /^(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:[/?#]|$)/i;
/** Options of curl and wget without a value: what follows them is an address. */
const valueless = /^-[fsSLkgv46ilNRqI]+$/;
const defaultPorts: ReadonlyMap<string, number> = new Map([
  ['http:', 80],
  ['https:', 443],
  ['ftp:', 21],
  ['ssh:', 22],
  ['git+ssh:', 22],
  ['git+https:', 443],
  ['git:', 9418],
]);

/** Host rules, in order, for what the commands of a text reach. */
export function impliedHosts(commands: readonly CommandInvocation[]): readonly string[] {
  const found = new Set<string>();
  for (const { argv } of commands) {
    const call = callOf(argv);
    for (const host of call === null ? [] : hostsOf(call)) found.add(host);
  }
  return [...found].toSorted().slice(0, hostRulesMax);
}

function callOf(argv: CommandInvocation['argv']): ProgramCall | null {
  const [called = null, ...rest] = argv;
  if (called === null) return null;
  const name = programBaseName(called).toLowerCase();
  const isModule = /^python[\d.]*$/.test(name) && rest[0] === '-m';
  const [program, given] = isModule ? [rest[1] ?? '', rest.slice(2)] : [name, rest];
  const words = given.map((word) => word ?? '');
  const node = lookUpCommand(program)?.node ?? {};
  const asked = words.map((value): Argument => ({ value, pieces: [value] }));
  const { operands } = parseCommandOptions(asked, { about: '', ...node });
  return { program: program.replace(/^pip[\d.]+$/, 'pip'), words, operands };
}

function hostsOf(call: ProgramCall): readonly string[] {
  switch (call.program) {
    case 'git':
      return gitHosts(call);
    case 'curl':
    case 'wget':
      return call.words.flatMap((word, at) => addressHosts(call, word, at));
    default:
      return registryHosts(call);
  }
}

function registryHosts({ program, words, operands }: ProgramCall): readonly string[] {
  const found = registries.get(program);
  if (found === undefined) return [];
  const { preset, subcommands } = found;
  const isOffline = (word: string): boolean =>
    offline.has(word) || (word === mavenOffline && preset === 'maven');
  if (words.some(isOffline)) return [];
  // `--index-url=https://…`, `git+https://…`
  const named = words.flatMap((word) => hostOfAddress(word) ?? []);
  const hosts = [...hostPresets[preset].hosts, ...named];
  if (subcommands === null) return operands.length > 0 ? hosts : [];
  // `cargo +nightly build`, and what may be the value of an option: `npm --prefix web install`.
  const isPassed = (at: number): boolean =>
    !subcommands.has(words[at] ?? '') && /^[-+]/.test((words[at - 1] ?? '') + (words[at] ?? ''));
  const at = operands.find((one) => !isPassed(one));
  return subcommands.has(at === undefined ? '' : (words[at] ?? '')) ? hosts : [];
}

function gitHosts({ words, operands }: ProgramCall): readonly string[] {
  const [at = 0] = operands;
  if (operands.length === 0 || !gitRemotes.has(words[at] ?? '')) return [];
  const rest = words.slice(at + 1);
  const repository = rest.find((word) => !word.startsWith('-'));
  return rest.flatMap((word) => {
    const byAddress = hostOfAddress(word);
    if (byAddress !== null) return byAddress;
    const [, host = ''] = copied.exec(word) ?? [];
    // `git push origin a:b` names no host.
    const isNamed = word === repository || word.includes('@');
    return isNamed && host !== '' ? ruleOf(host, 22) : [];
  });
}

/** Of a word of curl or wget. */
function addressHosts(
  { words, operands }: ProgramCall,
  word: string,
  at: number,
): readonly string[] {
  const byAddress = hostOfAddress(word);
  if (byAddress !== null) return byAddress;
  const before = words[at - 1] ?? '';
  const isOperand = operands.includes(at) && (!before.startsWith('-') || valueless.test(before));
  if (!isOperand || !bareAddress.test(word)) return [];
  return hostOfAddress(`http://${word}`) ?? [];
}

/** Of an address with a scheme, also as the value of an option; `null`: it is none. */
function hostOfAddress(word: string): readonly string[] | null {
  const [, text = null] = /^(?:--[\w-]+=)?([a-z][a-z+]*:\/\/.*)$/is.exec(word) ?? [];
  if (text === null) return null;
  const address = URL.parse(text);
  const usual = defaultPorts.get(address?.protocol ?? '');
  if (address === null || usual === undefined) return [];
  return ruleOf(address.hostname, address.port === '' ? usual : Number(address.port));
}

/** What is the sandbox's own, and an address without a port of its own, are none. */
function ruleOf(host: string, port: number): readonly string[] {
  const isOwn = host === '127.0.0.1' || host === 'localhost' || host.endsWith('.localhost');
  if (isOwn) return [];
  const text = webPorts.includes(port) ? host : `${host}:${port}`;
  const rule = parseHostRule(text);
  return rule === null ? [] : [rule.text];
}
