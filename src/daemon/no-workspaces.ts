/** The workspace desk of a runtime that records none. */
import { TrlError } from '../errors.ts';
import type { WorkspaceDesk } from './runtime.ts';

/** Refuses everything with `BACKEND_UNAVAILABLE`. */
export class NoWorkspaces implements WorkspaceDesk {
  open(): Promise<never> {
    return refuse('open the workspace');
  }

  status(): Promise<never> {
    return refuse('tell the status');
  }

  diff(): Promise<never> {
    return refuse('show the diff');
  }

  apply(): Promise<never> {
    return refuse('apply the changes');
  }

  discard(): Promise<never> {
    return refuse('discard the changes');
  }

  snapshots(): Promise<never> {
    return refuse('list snapshots');
  }

  snapshot(): Promise<never> {
    return refuse('show the snapshot');
  }

  restore(): Promise<never> {
    return refuse('restore the snapshot');
  }

  undo(): Promise<never> {
    return refuse('undo the command');
  }
}

const refuse = (action: string): Promise<never> =>
  Promise.reject(new TrlError('BACKEND_UNAVAILABLE', `Cannot ${action}: no workspace is recorded`));
