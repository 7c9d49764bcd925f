/** The frame around every view: where one can go, who is signed in, what is told aloud. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { focusFilter, moveFocus, useKeys } from './keys.ts';
import type { Bindings } from './keys.ts';
import { announced, badge } from './live/alert.ts';
import { follow, link } from './live/connection.ts';
import { signOut, standing } from './live/login.ts';
import type { Login } from './live/login.ts';
import { nextTheme, sound } from './live/settings.ts';
import { Help } from './help.tsx';
import { Text } from './parts/pieces.tsx';
import { addressOf, go, place } from './router.ts';
import { SignedOut } from './signed-out.tsx';
import { views } from './views.ts';
import type { View } from './views.ts';

export function App() {
  const who = standing.value;
  return (
    <>
      {who.kind === 'in' && <Frame key={who.login.token} login={who.login} />}
      {who.kind === 'out' && <SignedOut reason={who.reason} />}
      {who.kind === 'asking' && (
        <main class="gate">
          <p>Signing in…</p>
        </main>
      )}
      <p class="sr-only" role="status" aria-live="polite">
        {announced.value}
      </p>
    </>
  );
}

function Frame({ login }: { readonly login: Login }) {
  const help = useSignal(false);
  const main = useRef<HTMLElement>(null);
  const { view: name, rest } = place.value;
  const view = views.find((each) => each.name === name);
  useEffect(() => {
    const stop = new AbortController();
    follow(login, stop.signal).catch(() => {});
    return () => stop.abort(new DOMException('Signed out', 'AbortError'));
  }, [login]);
  useEffect(() => {
    const waiting = badge.value === 0 ? '' : `(${badge.value}) `;
    document.title = `${waiting}${view?.title ?? 'Not found'} · TRL`;
  }, [badge.value, view]);
  useEffect(() => {
    scrollTo(0, 0);
    // What had the focus may have left with the view before.
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [name, rest]);
  useKeys({
    ...goTo,
    j: () => moveFocus(1),
    k: () => moveFocus(-1),
    '/': focusFilter,
    t: nextTheme,
    '?': () => {
      help.value = true;
    },
  });
  const Show = view?.show;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current?.focus();
        }}
      >
        Skip to the content
      </a>
      <div class="frame">
        <Side here={name} login={login} help={() => (help.value = true)} />
        <main id="main" ref={main} tabIndex={-1} class={`view-${name}`}>
          <Lost />
          {Show === undefined ? <h1>There is no such view</h1> : <Show rest={rest} />}
        </main>
      </div>
      {help.value && <Help close={() => (help.value = false)} />}
    </>
  );
}

const goTo: Bindings = Object.fromEntries(
  views.flatMap(({ name, letter }) =>
    letter === null ? [] : [[`g${letter}`, () => go(name)] as const],
  ),
);

interface SideProps {
  readonly here: string;
  readonly login: Login;
  readonly help: () => void;
}

function Side({ here, login, help }: SideProps) {
  return (
    <header class="side">
      <p class="brand">
        <span aria-hidden="true">❯_</span> TRL <span class="quiet">console</span>
      </p>
      <nav aria-label="Views">
        <ul>
          {views
            .filter(({ letter }) => letter !== null)
            .map((view) => (
              <NavRow key={view.name} view={view} isHere={view.name === here} />
            ))}
        </ul>
      </nav>
      <div class="side-end">
        <p class={`link-state ${link.value.kind}`}>
          <span class="dot" aria-hidden="true" />
          {link.value.kind === 'live'
            ? 'Live'
            : link.value.kind === 'lost'
              ? 'Connection lost'
              : 'Connecting…'}
        </p>
        <p class="quiet who">
          <Text of={login.actor} />
        </p>
        <div class="tools">
          <button type="button" class="small" onClick={nextTheme} title="Light or dark (t)">
            Theme
          </button>
          <button
            type="button"
            class="small"
            aria-pressed={sound.value === 'on'}
            onClick={() => {
              sound.value = sound.value === 'on' ? 'off' : 'on';
            }}
          >
            Sound {sound.value}
          </button>
          <button type="button" class="small" onClick={help} title="Keys (?)">
            Keys
          </button>
          <button type="button" class="small" onClick={() => signOut('You have signed out.')}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  );
}

function NavRow({ view, isHere }: { readonly view: View; readonly isHere: boolean }) {
  const count = view.waiting?.() ?? 0;
  return (
    <li>
      <a href={addressOf(view.name)} aria-current={isHere ? 'page' : undefined}>
        <span>{view.title}</span>
        {count > 0 && (
          <span class="count">
            {count}
            <span class="sr-only"> waiting</span>
          </span>
        )}
        <kbd aria-hidden="true">g {view.letter}</kbd>
      </a>
    </li>
  );
}

function Lost() {
  if (link.value.kind !== 'lost') return null;
  return (
    <p class="problem" role="alert">
      The runtime is not reached; it is tried again. What is shown may be old. {link.value.why}
    </p>
  );
}
