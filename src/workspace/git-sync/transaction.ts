/**
 * Brings what a session changed in one git directory to the host's, under git's own locks. Its
 * files are in the work tree before.
 *
 *   prepare   objects, only added
 *   settle    the locks of the indexes are taken; refs by compare-and-swap, logs, HEAD, indexes
 *
 * It may be interrupted anywhere and done again: what is there already is not done twice.
 */
import type { BytePath, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import { joinPath } from '../byte-path.ts';
import { GitFailure } from '../projection/git-process.ts';
import {
  becomesTrueWithin,
  GitFiles,
  releaseGitLock,
  removeGitLeftovers,
  takeGitLock,
} from './git-files.ts';
import { absoluteGitPath, GitHistory, takeObjects } from './git-history.ts';
import { asideRefName, decideRef, HostRefs, type RefDecision } from './host-refs.ts';
import { IndexSync } from './index-sync.ts';
import { algorithmOf, ObjectStore } from './object-store.ts';
import {
  addedReflogLines,
  type AsideCheckout,
  type CheckoutChange,
  divergedPrefix,
  type GitOutcome,
  type GitPlan,
  isOid,
  mergeStashLog,
  type RefChange,
  type RefSet,
  refValueIn,
  resolveRefValue,
} from './ref-values.ts';

const lockMs = 2_000;
const attemptsMax = 8;
const asideMax = 100;
const headBytesMax = 4_096;
export const stashRefName = 'refs/stash';
const done = { state: 'applied', reason: null } as const;
const theirs = { state: 'conflict', reason: 'changed-meanwhile' } as const;

export interface GitTransactionContext {
  readonly root: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly contents: Pick<ContentStore, 'read' | 'put'>;
  /** A directory of the runtime's own. */
  readonly scratch: string;
  /** 8 hex digits, as in the intent. */
  readonly id: string;
  /** Whether a command of the session has written to a path. */
  readonly isTouched: (git: BytePath, path: BytePath) => boolean;
  /** Called after each step. */
  readonly reached?: (step: string) => void;
}

export class GitTransaction {
  readonly plan: GitPlan;
  readonly refs = new Map<string, GitOutcome>();
  readonly heads = new Map<BytePath, GitOutcome>();
  readonly indexes = new Map<BytePath, GitOutcome>();
  readonly asides: AsideCheckout[] = [];
  /** Objects that are not what their names say. */
  refused: ReadonlySet<BytePath> = new Set();
  history: GitHistory | null = null;
  readonly files: GitFiles;
  readonly #world: GitTransactionContext;
  readonly #refs: HostRefs;
  readonly #locked: BytePath[] = [];
  /** Branches of worktrees in which a git of the host is at work. */
  readonly #busy = new Set<string>();

  constructor(plan: GitPlan, world: GitTransactionContext) {
    this.plan = plan;
    this.#world = world;
    this.files = new GitFiles(world.root, world.owner, world.id);
    this.#refs = new HostRefs(this.files, plan.common);
  }

  /** Removes what a process left that ended in the middle of it. */
  removeLeftovers(): void {
    const { common, refs, checkouts, label } = this.plan;
    const names = refs.flatMap(({ name }) => [name, asideRefName(label, name)]);
    const heads = checkouts.flatMap(({ git }) => [joinPath(git, 'index'), joinPath(git, 'HEAD')]);
    const all = [...names, 'packed-refs', 'logs/refs/stash'].map((name) => joinPath(common, name));
    for (const path of [...all, ...heads]) removeGitLeftovers(this.files, path);
  }

  /** @returns whether everything that the session's refs lead to is there */
  async prepare(): Promise<boolean> {
    const all = this.#refs.all();
    this.history = await this.#openHistory(all);
    const store = new ObjectStore(this.files, this.plan.common);
    const { contents } = this.#world;
    const taking = { store, contents, history: this.history };
    this.refused = await takeObjects(taking, this.plan.objects);
    this.#world.reached?.('objects');
    return await this.#isComplete(all);
  }

  /** @returns `false`: the host has switched to another branch since it was planned */
  async settle(isLast = true): Promise<boolean> {
    for (const checkout of this.plan.checkouts) await this.#lock(checkout);
    const isSame = this.plan.checkouts.every(
      ({ git, head }) => head.base !== head.now || this.#head(git) === head.now,
    );
    if (!isSame && !isLast) {
      this.release();
      return false;
    }
    this.#world.reached?.('locked');
    for (const change of this.plan.refs) {
      this.refs.set(change.name, await this.#settle(change));
      this.#world.reached?.('ref');
    }
    const indexes = new IndexSync(this.files, this.#world.contents, this.history);
    for (const checkout of this.plan.checkouts) {
      const { git, host, session, head } = checkout;
      const isLocked = this.#locked.includes(joinPath(git, 'index'));
      const why = (await this.#settleHead(checkout)) ?? (isLocked ? null : 'git-locked');
      this.#world.reached?.('head');
      if (why === null) {
        this.#logHead(git);
        const to = this.#commitOf(git) ?? host;
        const settled = await indexes.settle(checkout, to);
        this.indexes.set(git, { ...settled, key: this.files.keyAt(joinPath(git, 'index')) });
      } else {
        if (isOid(host) && isOid(session)) this.asides.push({ git, host, session, reason: why });
        if (head.base !== head.now) this.heads.set(git, { state: 'conflict', reason: why });
        this.indexes.set(git, { state: 'conflict', reason: why });
      }
      this.#world.reached?.('index');
    }
    this.release();
    return true;
  }

  /** The host's locks are free again. */
  release(): void {
    for (const index of this.#locked.splice(0)) releaseGitLock(this.files, index);
    this.files.steps.close();
  }

  close(): void {
    this.release();
    this.history?.close();
  }

  async #lock({ git }: CheckoutChange): Promise<void> {
    const index = joinPath(git, 'index');
    const isQuiet = await becomesTrueWithin(lockMs, () =>
      ['rebase-merge', 'rebase-apply'].every((name) => this.#isFree(git, name)),
    );
    if (isQuiet && (await takeGitLock(this.files, index, lockMs))) this.#locked.push(index);
    else {
      const rebased = this.files.read(joinPath(git, 'rebase-merge/head-name'), headBytesMax);
      this.#busy.add(rebased?.trimEnd() ?? branchOfHead(this.#head(git)));
    }
  }

  /** A rebase that the session has begun is on both sides. */
  #isFree(git: BytePath, name: string): boolean {
    const isOurs = this.plan.checkouts.some((one) => one.git === git && one.isRebasing);
    return isOurs || this.files.stat(joinPath(git, name)) === null;
  }

  async #openHistory(all: RefSet): Promise<GitHistory | null> {
    const values = [...all.loose.values(), ...all.packed.values()];
    const known = [...values, ...this.plan.refs.map(({ now }) => now)].find((one) => isOid(one));
    const format = algorithmOf(known ?? '0'.repeat(40));
    const { scratch, root } = this.#world;
    try {
      return await GitHistory.open(scratch, absoluteGitPath(root, this.plan.common), format);
    } catch (error) {
      if (error instanceof GitFailure) return null;
      throw error;
    }
  }

  async #isComplete(all: RefSet): Promise<boolean> {
    const tips = this.plan.refs.map(({ now }) => now);
    const heads = this.plan.checkouts.map(({ session }) => session);
    const wanted = [...tips, ...heads].filter((one) => isOid(one));
    if (wanted.length === 0 || this.history === null) return true;
    const known = new Set([...all.loose.values(), ...all.packed.values()].filter(isOid));
    return await this.history.isComplete(wanted, [...known]);
  }

  async #decide(change: RefChange): Promise<RefDecision> {
    const { name, now } = change;
    if (this.#busy.has(name) && isOid(now)) return { kind: 'aside', to: now };
    const { history } = this;
    const git = this.plan.checkouts.find(({ head }) => branchOfHead(head.now) === name)?.git;
    const isTouched = (path: BytePath): boolean =>
      git === undefined || this.#world.isTouched(git, path);
    const decision = await decideRef({ history, isTouched }, change, this.#refs.value(name));
    if (decision.kind === 'merge' && history !== null) {
      await new ObjectStore(this.files, this.plan.common).addAll(history.objects);
    }
    return decision;
  }

  async #settle(change: RefChange): Promise<GitOutcome> {
    if (change.name === stashRefName) return this.#settleStash(change);
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const outcome = await this.#carryOut(change, await this.#decide(change));
      if (outcome !== 'again') return outcome;
    }
    return isOid(change.now) ? await this.#setAside(change.name, change.now) : theirs;
  }

  async #carryOut({ name, now }: RefChange, decision: RefDecision): Promise<GitOutcome | 'again'> {
    if (decision.kind === 'none') return done;
    if (decision.kind === 'theirs') return theirs;
    if (decision.kind === 'aside') return await this.#setAside(name, decision.to);
    const { from, to } = decision;
    const own = this.#logLines(name);
    const line = decision.kind === 'merge' ? [await this.#mergeLine(now, decision)] : [];
    const log = own === null ? null : [...own, ...line];
    let key: StatKey | null = null;
    const put = (left: StatKey | null): unknown => (key = left);
    const swapped = await this.#refs.swap({ name, from, to, log, put });
    if (swapped === 'changed') return 'again';
    if (swapped === 'done' && decision.kind === 'merge') {
      const reached = { from: Buffer.from(`${from}\n`), to: Buffer.from(`${to}\n`) };
      return { ...done, reason: 'merged', key, reached };
    }
    if (swapped === 'done') return { ...done, key };
    return isOid(now) ? await this.#setAside(name, now) : { state: 'conflict', reason: swapped };
  }

  async #mergeLine(now: string | null, { to }: { readonly to: string }): Promise<string> {
    const person = await this.history?.authorOf(to);
    const seconds = Math.floor(Date.now() / 1000);
    const who = `${person?.name ?? 'unknown'} <${person?.email ?? ''}>`;
    return `${now ?? ''} ${to} ${Buffer.from(who).toString('latin1')} ${seconds} +0000\tmerge: trl`;
  }

  async #setAside(name: string, to: string): Promise<GitOutcome> {
    const all = this.#refs.all();
    const plain = asideRefName(this.plan.label, name);
    for (let at = 1; at < asideMax; at += 1) {
      const aside = at === 1 ? plain : `${plain}.${at}`;
      const from = refValueIn(all, aside);
      if (from !== null && from !== to) continue;
      const isThere = from === to;
      const swapped = isThere
        ? 'done'
        : await this.#refs.swap({ name: aside, from, to, log: null });
      if (swapped === 'done') return { state: 'conflict', reason: divergedPrefix + aside };
    }
    return { state: 'conflict', reason: 'git-locked' };
  }

  async #settleStash({ now }: RefChange): Promise<GitOutcome> {
    const log = this.plan.logs.find(({ name }) => name === stashRefName);
    if (log === undefined) return done;
    const merge = (host: readonly string[]): string[] =>
      mergeStashLog(host, log.lines ?? [], log.before);
    if ((await this.#refs.stack(stashRefName, merge)) === 'done') return done;
    return isOid(now)
      ? await this.#setAside(stashRefName, now)
      : { state: 'conflict', reason: 'git-locked' };
  }

  /** @returns why the host's worktree does not go on with the session's; `null`: it does */
  async #settleHead({ git, head, host, session, seen }: CheckoutChange): Promise<string | null> {
    const branch = branchOfHead(head.now);
    const settled = this.refs.get(branch);
    if (settled?.state === 'conflict') return settled.reason;
    const text = this.#head(git);
    if (head.base === head.now && text !== head.now) return theirs.reason;
    if (head.now === null || head.base === head.now || text === head.now) return null;
    const isMoved = seen !== null && seen !== host;
    const isOurs = !isMoved && this.#locked.includes(joinPath(git, 'index'));
    const swapped = !isOurs ? 'changed' : await this.#refs.swapHead(git, head.base, head.now);
    if (swapped === 'done') {
      this.heads.set(git, done);
      return null;
    }
    if (branch !== '' || !isOid(session)) return theirs.reason;
    return (await this.#setAside('HEAD', session)).reason;
  }

  #head(git: BytePath): string | null {
    return this.files.read(joinPath(git, 'HEAD'), headBytesMax);
  }

  #commitOf(git: BytePath): string | null {
    return resolveRefValue(this.#refs.all(), this.#head(git)?.trimEnd() ?? null);
  }

  #logHead(git: BytePath): void {
    const log = this.plan.logs.find((one) => one.git === git && one.name === 'HEAD');
    if (log?.lines == null) return;
    this.#refs.appendLog(git, 'HEAD', addedReflogLines(log.before, log.lines));
  }

  #logLines(name: string): readonly string[] | null {
    const log = this.plan.logs.find((one) => one.name === name);
    return log?.lines == null ? null : addedReflogLines(log.before, log.lines);
  }
}

/** The branch that a `HEAD` is on; `''`: none. */
export const branchOfHead = (head: string | null): string =>
  /^ref: (\S+)/.exec(head ?? '')?.[1] ?? '';
