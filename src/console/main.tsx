/** The console: starts what updates the page, then shows it. */
import { render } from 'preact';
import { App } from './app.tsx';
import { listenForKeys } from './keys.ts';
import { startAlerts } from './live/alert.ts';
import { signIn } from './live/login.ts';
import { applyTheme } from './live/settings.ts';
import { startClock } from './components/time.tsx';
import { followLocation } from './router.ts';

const signingIn = signIn();
applyTheme();
followLocation();
listenForKeys();
startClock();
startAlerts();
const page = document.getElementById('console');
if (page !== null) render(<App />, page);
// A link that is opened in a tab with the console changes only the fragment.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#login=')) signIn().catch(() => {});
});
signingIn.catch(() => {});
