// Approvals against a model: any order of questions, answers, starts, waits and crashes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { Approval } from '../src/approval/approval.ts';
import { subjectDigest } from '../src/approval/subject.ts';
import type { ApprovalId, ApprovalState, ExecId } from '../src/command.ts';
import { TrlError } from '../src/errors.ts';
import { ask, asked, desk, no, yes } from './support/approval.ts';

const minute = 60_000;

const next: Readonly<Record<ApprovalState, readonly ApprovalState[]>> = {
  pending: ['approved', 'denied', 'expired', 'cancelled'],
  approved: ['used', 'expired', 'cancelled', 'superseded'],
  used: [],
  denied: [],
  expired: [],
  cancelled: [],
  superseded: [],
};

type Step =
  | { readonly do: 'ask'; readonly command: string; readonly session: 's-1' | 's-2' }
  | { readonly do: 'decide'; readonly at: number; readonly yes: boolean; readonly session: boolean }
  | { readonly do: 'claim'; readonly at: number; readonly changed: boolean }
  | { readonly do: 'cancel'; readonly at: number }
  | { readonly do: 'wait'; readonly minutes: number }
  | { readonly do: 'restart' }
  /** The next write fails: the process is killed in between, and starts again. */
  | { readonly do: 'kill'; readonly during: 'decide' | 'claim'; readonly at: number };

/** Mostly the newest. */
const at = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(5) });
const mostly = fc.constantFrom(true, true, true, false);
const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const step: fc.Arbitrary<Step> = fc.oneof(
  often(
    3,
    fc.record({
      do: fc.constant('ask' as const),
      command: fc.constantFrom('a', 'b', 'c'),
      session: fc.constantFrom('s-1' as const, 's-2' as const),
    }),
  ),
  often(
    4,
    fc.record({ do: fc.constant('decide' as const), at, yes: mostly, session: fc.boolean() }),
  ),
  often(
    4,
    fc.record({ do: fc.constant('claim' as const), at, changed: mostly.map((same) => !same) }),
  ),
  often(1, fc.record({ do: fc.constant('cancel' as const), at })),
  often(1, fc.record({ do: fc.constant('wait' as const), minutes: fc.constantFrom(1, 8, 16) })),
  often(1, fc.record({ do: fc.constant('restart' as const) })),
  often(
    1,
    fc.record({
      do: fc.constant('kill' as const),
      during: fc.constantFrom('decide' as const, 'claim' as const),
      at,
    }),
  ),
);

/** Plays steps and keeps what is known from outside; answers how often each one ran. */
function play(steps: readonly Step[]): ReadonlyMap<ApprovalId, number> {
  let now = desk();
  const states = new Map<ApprovalId, ApprovalState>();
  const said = new Set<ApprovalId>();
  const runs = new Map<ApprovalId, number>();
  let execs = 0;
  const look = (): void => {
    for (const { id, state } of now.approvals.list({})) {
      const before = states.get(id);
      assert.ok(before === undefined || before === state || reaches(before, state), id);
      states.set(id, state);
    }
    assert.equal(now.disk.rows.size, now.approvals.list({}).length);
  };
  const pick = (index: number): Approval | undefined => {
    const all = now.approvals.list({});
    return all[all.length - 1 - (index % Math.max(1, all.length))];
  };
  const decide = (index: number, yes_: boolean, scope: 'once' | 'session'): void => {
    const one = pick(index);
    if (one === undefined) return;
    const { state } = now.approvals.decide(one.id, yes_ ? yes(one, { scope }) : no(one));
    assert.equal(one.state, 'pending');
    if (state === 'approved') said.add(one.id);
  };
  const claim = (index: number, changed: boolean): void => {
    const one = pick(index);
    if (one === undefined) return;
    const question = changed ? { ...one.asked, cwd: `${one.asked.cwd}/x` } : one.asked;
    const claimed = now.approvals.claim(one.id, question);
    assert.equal(claimed.kind, changed ? 'superseded' : 'run');
    assert.ok(said.has(one.id), 'nothing runs that nobody approved');
    if (claimed.kind === 'run') runs.set(one.id, (runs.get(one.id) ?? 0) + 1);
  };
  const act = (each: Step): void => {
    switch (each.do) {
      case 'ask': {
        const exec: ExecId = `x-${(execs += 1)}`;
        const question = asked({ command: each.command, session: each.session });
        const pending = now.approvals.list({ state: 'pending' });
        const known = pending.find(({ digest }) => digest === subjectDigest(question));
        const { id } = now.approvals.ask(question, ask, exec);
        assert.ok(known === undefined || known.id === id, 'equal questions coalesce');
        break;
      }
      case 'decide':
        decide(each.at, each.yes, each.session ? 'session' : 'once');
        break;
      case 'claim':
        claim(each.at, each.changed);
        break;
      case 'cancel':
        now.approvals.cancel({ exec: pick(each.at)?.execId ?? 'x-0' });
        break;
      case 'wait':
        now.time += each.minutes * minute;
        now.approvals.expire();
        break;
      case 'restart':
        now = now.restart();
        break;
      case 'kill':
        now.disk.failure = new Error('killed');
        try {
          if (each.during === 'decide') decide(each.at, true, 'once');
          else claim(each.at, false);
        } catch {
          // Whatever was under way: the next process finds what is on disk.
        }
        now.disk.failure = null;
        now = now.restart();
        break;
    }
  };
  for (const each of steps) {
    try {
      act(each);
    } catch (error) {
      if (!(error instanceof TrlError)) throw error;
    }
    look();
  }
  return runs;
}

function reaches(from: ApprovalState, to: ApprovalState): boolean {
  return next[from].some((state) => state === to || reaches(state, to));
}

test('whatever happens in whatever order, one yes is one start', () => {
  let started = 0;
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      for (const count of play(steps).values()) {
        assert.equal(count, 1);
        started += 1;
      }
    }),
    { numRuns: 400 },
  );
  // A model in which nothing ever runs would prove nothing.
  assert.ok(started > 100, `only ${started} starts`);
});
