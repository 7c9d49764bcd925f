/** The keyboard shortcuts, and the switch for them. */
import { useEffect, useRef } from 'preact/hooks';
import { shortcutsSetting } from './live/settings.ts';
import { consolePages } from './pages.ts';

const keys = [
  ['j, k', 'Next, previous'],
  ['Enter', 'Open'],
  ['a', 'Approve the open request'],
  ['d', 'Deny the open request'],
  ['w', 'Message to the agent'],
  ['s', 'For the session'],
  ['/', 'Filter'],
  ['t', 'Light or dark'],
  ['?', 'These keys'],
] as const;

export function KeyboardHelp({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keys</h2>
      <dl>
        {keys.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
        {consolePages.map(({ name, title, letter }) =>
          letter === null ? null : (
            <div key={name}>
              <dt>
                <kbd>g {letter}</kbd>
              </dt>
              <dd>{title}</dd>
            </div>
          ),
        )}
      </dl>
      <p class="quiet">
        A decision counts once the request was visible for 0.6 s, with its end on the screen. After
        it no other request replaces it: j opens the next.
      </p>
      <label class="check">
        <input
          type="checkbox"
          checked={shortcutsSetting.value === 'on'}
          onChange={(event) => {
            shortcutsSetting.value = event.currentTarget.checked ? 'on' : 'off';
          }}
        />
        Single letters are shortcuts
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
