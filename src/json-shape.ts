/**
 * Checks values that came as JSON: single fields, and objects against a shape. It is small because
 * it is part of the runner's bundle, which has no dependency. This module imports nothing.
 */

/** Says whether a value is a `T`. */
export type Check<T> = (value: unknown) => value is T;

/** The checks of an object's fields, by name. Fields without a check are ignored. */
export type Shape = Readonly<Record<string, Check<unknown>>>;

type Checked<C> = C extends Check<infer T> ? T : never;
type OptionalIn<S extends Shape> = {
  [Name in keyof S]: undefined extends Checked<S[Name]> ? Name : never;
}[keyof S];

/** An object that passed the checks of a shape. */
export type Shaped<S extends Shape> = {
  readonly [Name in Exclude<keyof S, OptionalIn<S>>]: Checked<S[Name]>;
} & { readonly [Name in OptionalIn<S>]?: Checked<S[Name]> };

export const isText: Check<string> = (value) => typeof value === 'string';
export const isFlag: Check<boolean> = (value) => typeof value === 'boolean';

/** A whole number from 0 on. */
export const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;

/** Any object, also a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** `undefined` where the value is no object or has no such field. */
export const fieldOf = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name] : undefined;

export const optional =
  <T>(check: Check<T>) =>
  (value: unknown): value is T | undefined =>
    value === undefined || check(value);

export const nullable =
  <T>(check: Check<T>) =>
  (value: unknown): value is T | null =>
    value === null || check(value);

export const listOf =
  <T>(check: Check<T>) =>
  (value: unknown): value is readonly T[] =>
    Array.isArray(value) && value.every(check);

export const recordOf =
  <T>(check: Check<T>) =>
  (value: unknown): value is Readonly<Record<string, T>> =>
    isObject(value) && !Array.isArray(value) && Object.values(value).every(check);

export const oneOf =
  <const T extends string>(...words: readonly T[]) =>
  (value: unknown): value is T =>
    words.some((word) => word === value);

export const objectOf =
  <S extends Shape>(shape: S) =>
  (value: unknown): value is Shaped<S> =>
    wrongField(shape, value) === null;

/** The first field that fails its check; `null`: the value has the shape. */
export const wrongField = (shape: Shape, value: unknown): string | null =>
  Object.entries(shape).find(([name, check]) => !check(fieldOf(value, name)))?.[0] ?? null;
