/**
 * Gathers facts: finds the files of a policy and joins them. A file that is there and cannot be
 * used is an error, never left out.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Owner } from '../../yaml/gather.ts';
import { knowledgeVersion } from '../knowledge.ts';
import { joinLayers, strictestBase } from '../policy.ts';
import type { BaseName, GivenBounds, Layer, Policy } from '../policy.ts';
import { profilePolicy, profiles } from '../profiles.ts';
import { readBytes } from './gather.ts';
import { configDirectory, managedFile, userFileName } from './places.ts';
import { joinGrants } from './grants.ts';
import { PolicyError } from './problem.ts';
import { readPolicyFile, type Origin, type PolicyFile } from './read.ts';

const filesMax = 16;

export interface Choice {
  /** A shipped profile or a file, in place of the user's file. */
  readonly chosen?: { readonly base: BaseName } | { readonly file: string };
  /** The base where neither a choice nor a file says one. */
  readonly fallback: BaseName;
  /** Version of the runtime. */
  readonly version: string;
  /** Default: `policy.yaml` in {@link configDirectory}. */
  readonly userFile?: string;
  /** Default: {@link managedFile}. */
  readonly managedFile?: string;
  /** The project's file, once trusted. */
  readonly project?: PolicyFile | null;
  /** Told of each file of a person before it is read, and throws for one that must not decide. */
  readonly guard?: (file: string) => void;
}

/** What one layer brings. */
export interface Part {
  readonly layer: Layer;
  readonly bounds: readonly GivenBounds[];
}

/**
 * The policy of a daemon or a session: what was chosen or is the user's, joined with the managed
 * file and the project's.
 *
 * @throws PolicyError when a file cannot be used
 */
export function loadPolicy(choice: Choice): Policy {
  const { chosen, fallback, version, guard = (): void => {} } = choice;
  const part = (file: string, kind: Origin['kind'], owner: Owner): Part | null => {
    const files = withExtended(file, { file, kind, version }, { owner, guard });
    return files === null ? null : partOf(files);
  };
  const managed = part(choice.managedFile ?? managedFile, 'managed', 'root');
  const project = choice.project ?? null;
  const rest = [...(managed === null ? [] : [managed]), ...(project ? [partOf([project])] : [])];
  if (chosen !== undefined && 'base' in chosen) return policyOf(null, chosen.base, rest);
  const file = chosen?.file ?? choice.userFile ?? path.join(configDirectory(), userFileName);
  const own = part(file, 'user', 'user');
  if (own === null && chosen !== undefined) throw missing(file);
  return policyOf(own, fallback, rest);
}

/**
 * The policy that one file is, with what it extends; the file may belong to anyone.
 *
 * @throws PolicyError when it or a file that it extends cannot be used
 */
export function loadFile(file: string, origin: Omit<Origin, 'file'>, fallback: BaseName): Loaded {
  const files = withExtended(file, { ...origin, file }, { owner: 'anyone', guard: () => {} });
  if (files === null) throw missing(file);
  const cases = files.at(-1)?.cases ?? [];
  return { policy: policyOf(partOf(files), fallback, []), cases };
}

export interface Loaded {
  readonly policy: Policy;
  /** Of the file itself, not of those that it extends. */
  readonly cases: PolicyFile['cases'];
}

/**
 * The policy that one text is by itself.
 *
 * @throws PolicyError when it cannot be used, or extends files
 */
export function readPolicy(
  input: string | Uint8Array,
  origin: Origin,
  fallback: BaseName = 'guarded',
): Policy {
  const file = readPolicyFile(input, origin);
  const [extended] = file.extends;
  if (extended !== undefined) {
    const message = `"${extended.file}" is another file: a text alone extends none`;
    throw new PolicyError(origin.file, [{ ...extended, message }]);
  }
  return policyOf(partOf([file]), fallback, []);
}

function policyOf(own: Part | null, fallback: BaseName, rest: readonly Part[]): Policy {
  const parts = [own ?? profilePart(fallback), ...rest].map((part, at) =>
    at === 0 ? based(part, fallback) : part,
  );
  return joinLayers(
    parts[0]?.layer.name ?? fallback,
    parts.map(({ layer }) => layer),
    parts.flatMap(({ bounds }) => bounds),
    knowledgeVersion(),
  );
}

/** The first layer has a base, and the network of its profile where it says none. */
function based({ layer, bounds }: Part, fallback: BaseName): Part {
  const base = layer.base ?? fallback;
  const saysNetwork = bounds.some(({ network }) => network !== undefined);
  const given = saysNetwork ? bounds : [{ network: profiles[base].network }, ...bounds];
  return { layer: { ...layer, base }, bounds: given };
}

function profilePart(base: BaseName): Part {
  return { layer: profilePolicy(base).layers[0] ?? impossible(), bounds: [] };
}

function impossible(): never {
  throw new TypeError('a profile has one layer');
}

/** Files of one author as one layer, the one that extends last. */
function partOf(files: readonly PolicyFile[]): Part {
  const last = files.at(-1) ?? impossible();
  const grants = files.flatMap((file) => file.grants ?? []);
  const layer: Layer = {
    name: last.name,
    kind: last.origin.kind,
    base: strictestBase(files.map(({ base }) => base)),
    callers: files.flatMap(({ callers }) => callers),
    commands: files.flatMap(({ commands }) => commands),
    ...(grants.length > 0 && { grants: joinGrants(grants) }),
  };
  return { layer, bounds: files.map(({ bounds }) => bounds) };
}

/** The file and all that it extends, each once, the ones extended first; `null`: no file. */
function withExtended(
  file: string,
  origin: Origin,
  { owner, guard }: { readonly owner: Owner; readonly guard: (file: string) => void },
): PolicyFile[] | null {
  guard(file);
  const bytes = readBytes(file, owner);
  if (bytes === null) return null;
  const read = new Map<string, PolicyFile>();
  const visit = (real: string, input: Uint8Array, from: Origin, chain: readonly string[]): void => {
    const own = readPolicyFile(input, from);
    for (const extended of own.extends) {
      const problem = (message: string): PolicyError =>
        new PolicyError(from.file, [{ ...extended, message }]);
      const target = path.resolve(path.dirname(real), extended.file);
      guard(target);
      const found = readBytes(target, owner);
      if (found === null) throw problem(`there is no file "${target}"`);
      const next = realpathSync(target);
      if (chain.includes(next)) {
        const circle = [...chain.slice(chain.indexOf(next)), next];
        throw problem(`"extends" goes in a circle: ${circle.join(' → ')}`);
      }
      if (read.has(next)) continue;
      if (read.size + chain.length >= filesMax) {
        throw problem(`more than ${filesMax} files extend each other`);
      }
      const label = path
        .basename(next)
        .replace(/\.[^.]*$/, '')
        .toLowerCase();
      visit(next, found, { ...from, file: target, label }, [...chain, next]);
    }
    read.set(real, own);
  };
  const real = realpathSync(file);
  visit(real, bytes, origin, [real]);
  return [...read.values()];
}

function missing(file: string): PolicyError {
  return new PolicyError(file, [{ line: 1, column: 1, message: 'there is no such file' }]);
}
