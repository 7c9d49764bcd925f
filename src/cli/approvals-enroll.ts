/**
 * `trl approvals enroll`: sets the passphrase that proves a person. It speaks to no daemon and
 * takes the passphrase from the terminal only: an agent could do everything else, too.
 */
import { homedir, userInfo } from 'node:os';
import { Enrolment, enrolmentFiles } from '../approval/enrolment.ts';
import { recordCliAction } from './audit-record.ts';
import { interruptedExitCode, Interrupts } from './interrupts.ts';
import { printMessage } from './print.ts';
import { PromptCancelledError, ControllingTerminal } from './terminal.ts';

export async function runApprovalsEnroll(): Promise<number> {
  const places = enrolmentFiles(process.env, homedir());
  const enrolment = new Enrolment(places);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    using terminal = ControllingTerminal.open('enroll');
    const known = enrolment.approver();
    const old = known === null ? null : await terminal.secret('Passphrase so far: ', signal);
    // Told before a new one is made up.
    if (old !== null && !(await enrolment.verify(old))) {
      printMessage('the passphrase is wrong; nothing was changed');
      return 125;
    }
    const first = await terminal.secret('New passphrase, 8 characters or more: ', signal);
    const second = await terminal.secret('The same again: ', signal);
    if (first !== second) {
      printMessage('they differ; nothing was changed');
      return 125;
    }
    const approver = userInfo().username;
    // Whose yes counts from here on is a change of policy: it is on disk before it is one.
    const data = { method: 'approvals.enroll', approver, replaces: known };
    await recordCliAction('approvals enroll', { kind: 'call.requested', data });
    await enrolment.enrol(approver, first, old);
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !signal.aborted) throw error;
    printMessage('nothing was changed');
    return interrupts.exitCode ?? interruptedExitCode;
  }
  printMessage(`enrolled; decisions need this passphrase from now on (${places.file})`);
  return 0;
}
