/**
 * What a question to a person is made of: what the text of a command names, as it is now, and
 * everything that an answer binds.
 */
import path from 'node:path';
import type { NetworkRule, RevealRule } from './approval/lasting.ts';
import type { Asked } from './approval/request.ts';
import type { Plan, Verdict } from './command.ts';
import { bind, type Bound } from './policy/binding/bind.ts';
import { gatherFacts, type Facts } from './policy/facts.ts';
import { isInside } from './policy/inside.ts';
import type { Reading } from './policy/judge.ts';
import { interpreterName } from './policy/python/interpreter.ts';
import { steadyProject } from './policy/shapes/project.ts';
import { shapeOf } from './policy/shapes/shape.ts';
import { mentionsOf, readsInputWhy, withCarried } from './policy/shell/mentions.ts';
import type { Asking, Ground, Standing, World } from './world.ts';
import { parseGitConfig } from './workspace/git-config.ts';

export interface LookedUp {
  readonly facts: Facts;
  /** Where the command starts. */
  readonly cwd: string;
  readonly macs: Asked['env'];
  /** What a yes would bind of the files that it may run, as they are now. */
  readonly bound: () => Promise<Bound>;
}

/** @param at where the command was told to start; `null`: where the session is */
export async function lookUpNamed(
  world: World,
  ground: Ground,
  { request, reading, at }: { request: Asking; reading: Reading; at: string | null },
): Promise<LookedUp> {
  const { cwd: there, path: own, macs } = await world.state(ground.sessionId);
  const { analysis, seen } = reading;
  const cwd = at ?? there ?? ground.home;
  const path = ground.env['PATH'] ?? '';
  const isElsewhere = (file: string): boolean => ground.changes?.isWaiting(file) === true;
  const place = { workspace: ground.workspace, cwd, path, parseGitConfig, isElsewhere };
  const searched = request.env['PATH'] ?? own ?? path;
  // The interpreter of a script is the runtime's, whatever PATH the session has.
  const isFixed = (name: string): boolean =>
    name.includes('/') || (request.language === 'python' && name === interpreterName);
  const named = analysis.named.map((one) =>
    one.role === 'executable' && !isFixed(one.name) && searched !== path
      ? { ...one, name: ground.find(one.name, searched, cwd) ?? one.name }
      : one,
  );
  const look = (): Promise<Facts> => gatherFacts({ ...analysis, named }, seen.plain, place);
  const bound = async (): Promise<Bound> => {
    const { contents: found } = await look();
    const { workspace, layer } = ground;
    const isPrivate = (file: string): boolean => ground.isPrivate(file);
    const contents = found.map((content) => ground.bound(content, cwd));
    const { env, command } = request;
    const isHidden = (file: string): boolean => ground.isHidden(file);
    // A script has a directory of its own, and reaches the files of the workspace.
    const from = request.language === 'python' ? (workspace ?? cwd) : cwd;
    const where = {
      workspace,
      cwd: from,
      path: searched,
      env,
      layer,
      isPrivate,
      isHidden,
      contents,
    };
    const mentions = analysis.mentions ?? mentionsOf(command);
    return bind(withCarried(mentions, Object.keys(macs)), where);
  };
  const facts = await look();
  return { facts, cwd, macs: Object.entries(macs).map(([name, mac]) => ({ name, mac })), bound };
}

/** Variables that each call has anew, and no program of a known shape obeys. */
const harmless: ReadonlySet<string> = new Set(['PWD', 'OLDPWD', 'SHLVL', '_', 'TRACEPARENT']);

/** A question about what is shown and nothing else: the values are those of any command. */
function revealRuleOf({
  ground,
  standing,
  reveal,
  verdict,
}: Parameters<typeof question>[1]): RevealRule | null {
  const asks = verdict.rules.filter(({ decision }) => decision === 'ask');
  const isOfReveal = asks.length > 0 && asks.every(({ id }) => id === 'reach.reveal');
  if (!isOfReveal || ground.workspace === null || ground.place === null) return null;
  return { reveal, workspace: ground.place, requester: standing.requester };
}

/**
 * What an answer for the project would be about: a command of a known shape that asks for the
 * network and nothing else, as it starts where nothing of the session or the project leads it
 * elsewhere. `null`: no such answer is taken.
 */
function networkRuleOf(
  world: World,
  { ground, standing, tool, plan, macs, verdict }: Parameters<typeof question>[1],
  { contents }: Bound,
): NetworkRule | null {
  const { reach, session } = standing;
  const { workspace, place } = ground;
  const asks = verdict.rules.filter(({ decision }) => decision === 'ask');
  const isOfNetwork = asks.length > 0 && asks.every(({ id }) => id === 'reach.network');
  const isHeld = reach.level === 'full' && ground.network === 'on' && reach.beyond.length === 0;
  if (!isOfNetwork || !isHeld || workspace === null || place === null) return null;
  if (tool !== undefined || plan.language !== undefined || plan.argv !== null) return null;
  // Functions and aliases of the shell go by any name.
  if (plan.carry === 'shell') return null;
  const own = [...Object.keys(plan.command_env), ...session.requested, ...session.given];
  const led = macs.filter(({ name, mac }) => mac !== world.mac(name, plan.env[name] ?? ''));
  if (![...own, ...led.map(({ name }) => name)].every((name) => harmless.has(name))) return null;
  const shape = shapeOf(plan.command);
  if (shape === null) return null;
  const program = contents.find((one) => one.role === 'executable' && one.name === shape.program);
  if (program === undefined || program.path === null || program.sha256 === null) return null;
  if (!isFirst(plan.env['PATH'] ?? '', path.dirname(program.path), ground)) return null;
  const isElsewhere = (file: string): boolean => ground.changes?.isWaiting(file) === true;
  const project = steadyProject(shape.project, { root: workspace, cwd: plan.cwd, isElsewhere });
  if (project === null) return null;
  const { requester } = standing;
  const { words } = shape;
  return { words, program: program.path, network: true, workspace: place, requester, project };
}

/** Whether commands can put nothing before it, nor beside what it starts by name. */
function isFirst(search: string, directory: string, ground: Ground): boolean {
  const { workspace } = ground;
  const isOurs = (one: string): boolean =>
    !path.isAbsolute(one) ||
    ground.isPrivate(one) ||
    (workspace !== null && isInside(path.normalize(one), workspace));
  return !isOurs(directory) && !search.split(':').some(isOurs);
}

/** Everything that a person's answer binds. */
export function question(
  world: World,
  parts: {
    readonly ground: Ground;
    readonly standing: Standing;
    readonly tool: Asking['tool'];
    readonly reveal: readonly string[];
    readonly plan: Plan & { readonly cwd: string };
    readonly macs: Asked['env'];
    readonly verdict: Verdict;
  },
  bound: Bound,
): Asked {
  const { ground, standing, tool, reveal, plan, macs } = parts;
  const { reach, judge, requester } = standing;
  const own = (all: Readonly<Record<string, string>>): [string, string][] =>
    Object.entries(all).map(([name, value]) => [name, world.mac(name, value)]);
  const carried = macs.map(({ name, mac }): [string, string] => [name, mac]);
  const env = new Map([...own(plan.env), ...carried, ...own(plan.command_env)]);
  const { stdin } = plan;
  const rule = revealRuleOf(parts) ?? networkRuleOf(world, parts, bound);
  return {
    v: 1,
    command: plan.command,
    ...(plan.language === undefined ? {} : { language: plan.language }),
    ...(tool === undefined ? {} : { tool: { name: tool.name, sha256: tool.sha256 } }),
    argv: plan.argv,
    shell: plan.shell,
    mode: plan.mode,
    cwd: plan.cwd,
    cwdPlace: ground.directory(plan.cwd),
    workspace: ground.place,
    env: [...env].map(([name, mac]) => ({ name, mac })),
    stdin: {
      kind: stdin.kind,
      mac: stdin.kind === 'bytes' ? world.mac('stdin', stdin.base64) : null,
    },
    pty: plan.pty,
    sandbox: { kind: plan.box.kind, level: reach.level, box: ground.scope },
    network: ground.network,
    files: ground.files,
    ...(reveal.length === 0 ? {} : { reveal }),
    bounds: plan.bounds,
    policy: { name: judge.name, version: judge.version },
    session: plan.session_id,
    requester,
    ...(rule === null ? {} : { rule }),
    ...bound,
    binding: typed(bound.binding, plan),
  };
}

/** Of a script that is typed while it runs nobody knows the text beforehand. */
function typed(binding: Bound['binding'], { stdin, pty }: Plan): Bound['binding'] {
  const isTyped = stdin.kind === 'open' || pty !== null;
  if (!isTyped || binding.kind !== 'workspace') return binding;
  return binding.why.includes(readsInputWhy) ? { kind: 'unbound', why: binding.why } : binding;
}
