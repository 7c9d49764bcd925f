/**
 * `trl approvals enroll`: sets the passphrase that proves a person. It speaks to no daemon and
 * takes the passphrase from the terminal only: an agent could do everything else, too.
 */
import { homedir, userInfo } from 'node:os';
import { Enrolment, enrolmentPlaces } from '../approval/enrolment.ts';
import { record } from './audit-record.ts';
import { exitInterrupted, Interrupts } from './interrupts.ts';
import { say } from './show.ts';
import { Left, Terminal } from './terminal.ts';

export async function enroll(): Promise<number> {
  const places = enrolmentPlaces(process.env, homedir());
  const enrolment = new Enrolment(places);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    using terminal = Terminal.open('enroll');
    const known = enrolment.approver();
    const old = known === null ? null : await terminal.secret('Passphrase so far: ', signal);
    // Told before a new one is made up.
    if (old !== null && !(await enrolment.verify(old))) {
      say('the passphrase is wrong; nothing was changed');
      return 125;
    }
    const first = await terminal.secret('New passphrase, 8 characters or more: ', signal);
    const second = await terminal.secret('The same again: ', signal);
    if (first !== second) {
      say('they differ; nothing was changed');
      return 125;
    }
    const approver = userInfo().username;
    // Whose yes counts from here on is a change of policy: it is on disk before it is one.
    const data = { method: 'approvals.enroll', approver, replaces: known };
    await record('approvals enroll', { kind: 'call.requested', data });
    await enrolment.enrol(approver, first, old);
  } catch (error) {
    if (!(error instanceof Left) && !signal.aborted) throw error;
    say('nothing was changed');
    return interrupts.exitCode ?? exitInterrupted;
  }
  say(`enrolled; decisions need this passphrase from now on (${places.file})`);
  return 0;
}
