/**
 * Gathers facts: finds the files of a policy and joins them. A file that is there and cannot be
 * used is an error, never ignored.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { configDirectory } from '../../yaml/config-directories.ts';
import type { RequiredFileOwner } from '../../yaml/owned-file.ts';
import { knowledgeVersion } from '../commands/table.ts';
import {
  joinPolicyLayers,
  managedPolicyFile,
  strictestBase,
  userPolicyFileName,
} from '../policy.ts';
import type { PolicyBaseName, PolicyLayerBounds, PolicyLayer, Policy } from '../policy.ts';
import { policyFromProfile, shippedProfiles } from '../profiles.ts';
import { joinVariableGrants } from './grants.ts';
import { PolicyError, readPolicyBytes } from './policy-file.ts';
import { readPolicyFile, type PolicyFileOrigin, type PolicyFile } from './read.ts';

const filesMax = 16;

export interface PolicySelection {
  /** A shipped profile or a file, instead of the user's file. */
  readonly chosen?: { readonly base: PolicyBaseName } | { readonly file: string };
  /** The base if neither a choice nor a file specifies one. */
  readonly fallback: PolicyBaseName;
  /** Version of the runtime. */
  readonly version: string;
  /** Default: `policy.yaml` in {@link configDirectory}. */
  readonly userFile?: string;
  /** Default: {@link managedPolicyFile}. */
  readonly managedFile?: string;
  /** The project's file, once trusted. */
  readonly project?: PolicyFile | null;
  /** Called with each user-written file before it is read; throws for one that must not decide. */
  readonly guard?: (file: string) => void;
}

/** One layer with its limits. */
export interface LoadedLayer {
  readonly layer: PolicyLayer;
  readonly bounds: readonly PolicyLayerBounds[];
}

/**
 * The policy of a daemon or a session: what was chosen or is the user's, joined with the managed
 * file and the project's.
 *
 * @throws PolicyError when a file cannot be used
 */
export function loadPolicy(choice: PolicySelection): Policy {
  const { chosen, fallback, version, guard = (): void => {} } = choice;
  const part = (
    file: string,
    kind: PolicyFileOrigin['kind'],
    owner: RequiredFileOwner,
  ): LoadedLayer | null => {
    const files = withExtended(file, { file, kind, version }, { owner, guard });
    return files === null ? null : partOf(files);
  };
  const managed = part(choice.managedFile ?? managedPolicyFile, 'managed', 'root');
  const project = choice.project ?? null;
  const rest = [...(managed === null ? [] : [managed]), ...(project ? [partOf([project])] : [])];
  if (chosen !== undefined && 'base' in chosen) return policyOf(null, chosen.base, rest);
  const file = chosen?.file ?? choice.userFile ?? path.join(configDirectory(), userPolicyFileName);
  const own = part(file, 'user', 'user');
  if (own === null && chosen !== undefined) throw missing(file);
  return policyOf(own, fallback, rest);
}

/**
 * The policy of one file and the files that it extends; anyone may own the file.
 *
 * @throws PolicyError when it or a file that it extends cannot be used
 */
export function loadPolicyFile(
  file: string,
  origin: Omit<PolicyFileOrigin, 'file'>,
  fallback: PolicyBaseName,
): LoadedPolicy {
  const files = withExtended(file, { ...origin, file }, { owner: 'anyone', guard: () => {} });
  if (files === null) throw missing(file);
  const cases = files.at(-1)?.cases ?? [];
  return { policy: policyOf(partOf(files), fallback, []), cases };
}

export interface LoadedPolicy {
  readonly policy: Policy;
  /** Of the file itself, not of those that it extends. */
  readonly cases: PolicyFile['cases'];
}

/**
 * The policy of one text alone.
 *
 * @throws PolicyError when it cannot be used, or extends files
 */
export function readPolicy(
  input: string | Uint8Array,
  origin: PolicyFileOrigin,
  fallback: PolicyBaseName = 'guarded',
): Policy {
  const file = readPolicyFile(input, origin);
  const [extended] = file.extends;
  if (extended !== undefined) {
    const message = `"${extended.file}" is another file: a text alone extends none`;
    throw new PolicyError(origin.file, [{ ...extended, message }]);
  }
  return policyOf(partOf([file]), fallback, []);
}

function policyOf(
  own: LoadedLayer | null,
  fallback: PolicyBaseName,
  rest: readonly LoadedLayer[],
): Policy {
  const parts = [own ?? profilePart(fallback), ...rest].map((part, at) =>
    at === 0 ? based(part, fallback) : part,
  );
  return joinPolicyLayers(
    parts[0]?.layer.name ?? fallback,
    parts.map(({ layer }) => layer),
    parts.flatMap(({ bounds }) => bounds),
    knowledgeVersion(),
  );
}

/** The first layer has a base, and the network of its profile where it says none. */
function based({ layer, bounds }: LoadedLayer, fallback: PolicyBaseName): LoadedLayer {
  const base = layer.base ?? fallback;
  const saysNetwork = bounds.some(({ network }) => network !== undefined);
  const given = saysNetwork ? bounds : [{ network: shippedProfiles[base].network }, ...bounds];
  return { layer: { ...layer, base }, bounds: given };
}

function profilePart(base: PolicyBaseName): LoadedLayer {
  return { layer: policyFromProfile(base).layers[0] ?? impossible(), bounds: [] };
}

function impossible(): never {
  throw new TypeError('a profile has one layer');
}

/** Files of one author as one layer, the one that extends last. */
function partOf(files: readonly PolicyFile[]): LoadedLayer {
  const last = files.at(-1) ?? impossible();
  const grants = files.flatMap((file) => file.grants ?? []);
  const layer: PolicyLayer = {
    name: last.name,
    kind: last.origin.kind,
    base: strictestBase(files.map(({ base }) => base)),
    callers: files.flatMap(({ callers }) => callers),
    commands: files.flatMap(({ commands }) => commands),
    ...(grants.length > 0 && { grants: joinVariableGrants(grants) }),
  };
  return { layer, bounds: files.map(({ bounds }) => bounds) };
}

/** The file and all that it extends, each once, the ones extended first; `null`: no file. */
function withExtended(
  file: string,
  origin: PolicyFileOrigin,
  { owner, guard }: { readonly owner: RequiredFileOwner; readonly guard: (file: string) => void },
): PolicyFile[] | null {
  guard(file);
  const bytes = readPolicyBytes(file, owner);
  if (bytes === null) return null;
  const read = new Map<string, PolicyFile>();
  const visit = (
    real: string,
    input: Uint8Array,
    from: PolicyFileOrigin,
    chain: readonly string[],
  ): void => {
    const own = readPolicyFile(input, from);
    for (const extended of own.extends) {
      const problem = (message: string): PolicyError =>
        new PolicyError(from.file, [{ ...extended, message }]);
      const target = path.resolve(path.dirname(real), extended.file);
      guard(target);
      const found = readPolicyBytes(target, owner);
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
