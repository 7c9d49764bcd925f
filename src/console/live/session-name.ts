/** What people call a session: its name, else the beginning of its id. */
import { sessions } from './store.ts';

export function sessionLabel(id: string): string {
  return sessions.value.get(id)?.name ?? id.slice(0, 10);
}
