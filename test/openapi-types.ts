// The compiler holds each answer's schema and its written type equal, in both directions: this
// file has no test to run. `readonly` is left out of the comparison: schemas say nothing of it.
import type * as z from 'zod/mini';
import type { documentSchemas } from '../src/api/document-schemas.ts';
import type { ApprovalEvent } from '../src/protocol/approval.ts';
import type { FeedMessage } from '../src/protocol/feed.ts';
import type { MethodData, MethodName } from '../src/api/methods.ts';
import type { MethodAnswers, StreamEvent } from '../src/protocol/types.ts';

// oxlint-disable typescript/no-unnecessary-type-parameters -- how a conditional type is compared
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
// oxlint-enable typescript/no-unnecessary-type-parameters

/** Intersections as one object, nothing `readonly`, all the way down; unions member by member. */
type Plain<T> = T extends readonly [infer A, infer B]
  ? [Plain<A>, Plain<B>]
  : T extends readonly (infer Item)[]
    ? Plain<Item>[]
    : T extends object
      ? { -readonly [K in keyof T]: Plain<T[K]> }
      : T;

type Drifted = {
  [M in MethodName]: Equal<Plain<MethodData[M]>, Plain<MethodAnswers[M]>> extends true ? never : M;
}[MethodName];

type Never<T extends never> = T;
/** Fails to compile as soon as a method drifts: its name is in the message. */
export type NoneDrifted = Never<Drifted>;

type True<T extends true> = T;
export type EventsAreEqual = readonly [
  True<Equal<Plain<z.output<(typeof documentSchemas)['StreamEvent']>>, Plain<StreamEvent>>>,
  True<Equal<Plain<z.output<(typeof documentSchemas)['ApprovalEvent']>>, Plain<ApprovalEvent>>>,
  True<Equal<Plain<z.output<(typeof documentSchemas)['FeedMessage']>>, Plain<FeedMessage>>>,
  True<Equal<MethodName, keyof MethodAnswers>>,
];
