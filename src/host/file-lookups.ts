/** Looks at files of this machine for policy and approvals. Changes nothing. */
import { accessSync, constants, lstatSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { bindMentionedFiles } from '../policy/binding/bind.ts';
import { gatherFacts } from '../policy/facts.ts';
import { fingerprintProject } from '../policy/shapes/project.ts';
import { parseGitConfig } from '../workspace/git-config.ts';
import { isBelow } from '../workspace/inspect-path.ts';
import { resolveGivenDirectory } from '../workspace/roots.ts';
import type {
  DirectoryIdentity,
  FileLookups,
  SandboxLookups,
  SandboxTrees,
} from './machine-port.ts';

export const localFileLookups: FileLookups = {
  resolveDirectory: resolveGivenDirectory,
  gatherFacts: (analysis, plain, scope) =>
    gatherFacts(analysis, plain, { ...scope, parseGitConfig }),
  bindMentionedFiles,
  fingerprintProject,
  directoryAt: (path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat === undefined
      ? null
      : { dev: stat.dev, ino: stat.ino, isDirectory: stat.isDirectory() };
  },
  inSandbox,
};

function inSandbox({ none, visible, scratch, workspace }: SandboxTrees): SandboxLookups {
  const isPrivate = (file: string): boolean =>
    !none &&
    !visible.some((tree) => isBelow(file, tree)) &&
    scratch.some((dir) => isBelow(file, dir));
  return {
    isPrivate,
    // A path that is private to the sandbox is another directory on the host.
    directoryIdentity: (path) =>
      none || (workspace !== null && isBelow(path, workspace)) ? identityOf(path) : null,
    findProgram: (name, path, cwd) => {
      const files = path.split(':').map((dir) => resolve(cwd, dir, name));
      // A file that only the sandbox sees may exist, so it is the one that is named.
      return files.find((file) => isPrivate(file) || isProgram(file)) ?? null;
    },
    bindContent: (content, cwd) => {
      const isPath = content.role === 'script' || content.name.includes('/');
      // A file of the host at the path of one that only the sandbox sees would prove nothing.
      if (content.role !== 'package-script' && isPath && isPrivate(resolve(cwd, content.name))) {
        return { ...content, path: null, sha256: null };
      }
      return content.path === null || isFile(content.path) ? content : { ...content, sha256: null };
    },
  };
}

/** A pipe or a device gives another content at each reading. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}

/** Links are followed: a command would be where they lead. */
function identityOf(path: string): DirectoryIdentity | null {
  try {
    const { dev, ino } = statSync(path);
    return { dev, ino };
  } catch {
    return null;
  }
}
