/**
 * The login. The link of `trl console` carries a single-use code behind `#`, which no browser
 * sends; the page removes it from the address at once and exchanges it for a token. The token is in
 * session storage, which belongs to this origin with its port, and to this tab; there is no cookie.
 */
import { signal } from '@preact/signals';
import { fieldOf } from '../../json-shape.ts';

export interface ConsoleLogin {
  readonly token: string;
  /** ISO 8601. */
  readonly expires_at: string;
  readonly roles: readonly string[];
  readonly actor: string;
}
export type LoginState =
  | { readonly kind: 'in'; readonly login: ConsoleLogin }
  | { readonly kind: 'asking' }
  /** `reason`: why the login failed, a sentence; `null`: there was no attempt. */
  | { readonly kind: 'out'; readonly reason: string | null };

export const loginState = signal<LoginState>({ kind: 'asking' });

const storedAs = 'trl.login';

/** Signs in with the code in the address, else with the token of this tab. Never rejects. */
export async function signIn(): Promise<void> {
  const code = takeCode();
  if (code !== null) {
    // A new link replaces the login of this tab: the person chose it.
    sessionStorage.removeItem(storedAs);
    loginState.value = { kind: 'asking' };
    loginState.value = await redeem(code);
    return;
  }
  const login = stored();
  loginState.value = login === null ? { kind: 'out', reason: null } : { kind: 'in', login };
}

/** Forgets the token here and revokes it there: a copy of it is useless. */
export function signOut(reason: string | null): void {
  const who = loginState.peek();
  if (who.kind === 'in') void endLogin(who.login.token);
  sessionStorage.removeItem(storedAs);
  loginState.value = { kind: 'out', reason };
}

async function endLogin(token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const what = { method: 'DELETE', headers, credentials: 'omit', keepalive: true } as const;
  // A runtime that has ended has no logins.
  await fetch('/v1/login', what).catch(() => {});
}

function takeCode(): string | null {
  const code = /^#login=([A-Za-z0-9_-]{1,256})$/.exec(location.hash)?.[1] ?? null;
  if (location.hash.startsWith('#login=')) {
    // Replaced, not pushed: the history contains no address with the code.
    history.replaceState(null, '', `${location.pathname}#/approvals`);
  }
  return code;
}

async function redeem(code: string): Promise<LoginState> {
  try {
    const answer = await fetch('/v1/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code }),
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(10_000),
    });
    const login = answer.ok ? loginOf(await answer.json()) : null;
    if (login !== null) {
      sessionStorage.setItem(storedAs, JSON.stringify(login));
      return { kind: 'in', login };
    }
    const spent = answer.status === 401 || answer.status === 403 || answer.status === 404;
    const reason = spent
      ? 'This link was used already, or is too old.'
      : `The runtime refused the link (HTTP ${answer.status}).`;
    return { kind: 'out', reason };
  } catch {
    return { kind: 'out', reason: 'The runtime does not answer.' };
  }
}

function stored(): ConsoleLogin | null {
  try {
    const login = loginOf(JSON.parse(sessionStorage.getItem(storedAs) ?? 'null'));
    return login !== null && Date.parse(login.expires_at) > Date.now() ? login : null;
  } catch {
    return null;
  }
}

function loginOf(value: unknown): ConsoleLogin | null {
  if (typeof value !== 'object' || value === null) return null;
  const field = (name: string): unknown => fieldOf(value, name);
  const [token, expires, actor, roles] = ['token', 'expires_at', 'actor', 'roles'].map(field);
  const isText = (each: unknown): each is string => typeof each === 'string';
  if (!isText(token) || !isText(expires) || !isText(actor)) return null;
  return {
    token,
    expires_at: expires,
    actor,
    roles: Array.isArray(roles) ? roles.filter(isText) : [],
  };
}
