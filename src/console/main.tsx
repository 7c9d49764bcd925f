/** The console: starts what follows the page, then shows it. */
import { render } from 'preact';
import { App } from './app.tsx';
import { followKeys } from './keys.ts';
import { alertPeople } from './live/alert.ts';
import { signIn } from './live/login.ts';
import { followTheme } from './live/settings.ts';
import { followTime } from './parts/time.tsx';
import { followAddress } from './router.ts';

const signingIn = signIn();
followTheme();
followAddress();
followKeys();
followTime();
alertPeople();
const page = document.getElementById('console');
if (page !== null) render(<App />, page);
// A link that is opened in a tab that has the console already changes the fragment only.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#login=')) signIn().catch(() => {});
});
signingIn.catch(() => {});
