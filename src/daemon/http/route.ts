/** The form of a row in the table of `routes.ts`. */
import type { ResponseKind, RouteDefinition } from '../../api/define-method.ts';
import type { MethodName } from '../../api/methods.ts';

/** Another method at the same path, selected by `?mode=`. */
export interface RouteMode {
  readonly call: MethodName;
  readonly status: 200 | 202;
  readonly answer: ResponseKind;
}

export interface Route extends Omit<RouteDefinition, 'modes'> {
  readonly call: MethodName;
  /** By the value of `?mode=`; without it the row itself applies. */
  readonly modes?: Readonly<Record<string, RouteMode>>;
}

/** A path of the HTTP transport itself, without a wire method. */
export interface BuiltinRoute {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly about: string;
  /** Whether it needs no token. */
  readonly open: boolean;
}
