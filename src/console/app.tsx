/** The frame around every view: navigation, login, announcements. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { focusFilter, moveFocus, useKeyBindings, type KeyBindings } from './keys.ts';
import { announcement, waitingCount } from './live/alert.ts';
import { followFeed, feedState } from './live/connection.ts';
import { signOut, loginState, type ConsoleLogin } from './live/login.ts';
import { nextTheme, soundSetting } from './live/settings.ts';
import { KeyboardHelp } from './help.tsx';
import { VisibleText } from './components/visible-text.tsx';
import { consoleHref, navigateTo, currentLocation } from './router.ts';
import { consolePages, type ConsolePage } from './pages.ts';

export function App() {
  const who = loginState.value;
  return (
    <>
      {who.kind === 'in' && <Frame key={who.login.token} login={who.login} />}
      {who.kind === 'out' && <SignedOutPage reason={who.reason} />}
      {who.kind === 'asking' && (
        <main class="gate">
          <p>Signing in…</p>
        </main>
      )}
      <p class="sr-only" role="status" aria-live="polite">
        {announcement.value}
      </p>
    </>
  );
}

function Frame({ login }: { readonly login: ConsoleLogin }) {
  const help = useSignal(false);
  const main = useRef<HTMLElement>(null);
  const { view: name, rest } = currentLocation.value;
  const view = consolePages.find((each) => each.name === name);
  useEffect(() => {
    const stop = new AbortController();
    followFeed(login, stop.signal).catch(() => {});
    return () => stop.abort(new DOMException('Signed out', 'AbortError'));
  }, [login]);
  useEffect(() => {
    const waiting = waitingCount.value === 0 ? '' : `(${waitingCount.value}) `;
    document.title = `${waiting}${view?.title ?? 'Not found'} · TRL`;
  }, [waitingCount.value, view]);
  useEffect(() => {
    scrollTo(0, 0);
    // The focused element may have disappeared with the previous view.
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [name, rest]);
  useKeyBindings({
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
          {Show === undefined ? <h1>This view does not exist</h1> : <Show rest={rest} />}
        </main>
      </div>
      {help.value && <KeyboardHelp close={() => (help.value = false)} />}
    </>
  );
}

const goTo: KeyBindings = Object.fromEntries(
  consolePages.flatMap(({ name, letter }) =>
    letter === null ? [] : [[`g${letter}`, () => navigateTo(name)] as const],
  ),
);

interface SideProps {
  readonly here: string;
  readonly login: ConsoleLogin;
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
          {consolePages
            .filter(({ letter }) => letter !== null)
            .map((view) => (
              <NavRow key={view.name} view={view} isHere={view.name === here} />
            ))}
        </ul>
      </nav>
      <div class="side-end">
        <p class={`link-state ${feedState.value.kind}`}>
          <span class="dot" aria-hidden="true" />
          {feedState.value.kind === 'live'
            ? 'Live'
            : feedState.value.kind === 'lost'
              ? 'Connection lost'
              : 'Connecting…'}
        </p>
        <p class="quiet who">
          <VisibleText of={login.actor} />
        </p>
        <div class="tools">
          <button type="button" class="small" onClick={nextTheme} title="Light or dark (t)">
            Theme
          </button>
          <button
            type="button"
            class="small"
            aria-pressed={soundSetting.value === 'on'}
            onClick={() => {
              soundSetting.value = soundSetting.value === 'on' ? 'off' : 'on';
            }}
          >
            Sound {soundSetting.value}
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

function NavRow({ view, isHere }: { readonly view: ConsolePage; readonly isHere: boolean }) {
  const count = view.waiting?.() ?? 0;
  return (
    <li>
      <a href={consoleHref(view.name)} aria-current={isHere ? 'page' : undefined}>
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
  if (feedState.value.kind !== 'lost') return null;
  return (
    <p class="problem" role="alert">
      The runtime cannot be reached; the page retries. The state shown may be old.{' '}
      {feedState.value.why}
    </p>
  );
}

/** The page without a login: how to get a link. */
export function SignedOutPage({ reason }: { readonly reason: string | null }) {
  return (
    <main class="gate">
      <h1>
        <span aria-hidden="true">❯_</span> TRL console
      </h1>
      {reason !== null && (
        <p class="problem" role="alert">
          {reason}
        </p>
      )}
      <p>Open it from the machine on which the runtime runs:</p>
      <pre class="shell">
        <code>trl console</code>
      </pre>
      <p class="quiet">
        It prints a link that works once, for five minutes, and opens it if possible. Where a
        passphrase is enrolled, it is asked for first.
      </p>
    </main>
  );
}
