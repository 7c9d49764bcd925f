/** A button that makes a request to the runtime, and reports a failure. */
import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { describeError } from '../live/connection.ts';

/** The state of a request. */
export interface ActionState {
  readonly busy: boolean;
  /** Why the last request failed; `null`: it did not. */
  readonly problem: string | null;
  /** Does nothing while a request is under way. Never rejects. */
  readonly perform: (what: () => Promise<void>) => Promise<void>;
}

export function useAction(): ActionState {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const act = async (what: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await what();
    } catch (error) {
      setProblem(describeError(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, perform: act };
}

export function ActionError({ of }: { readonly of: string | null }) {
  return of === null ? null : (
    <p class="problem" role="alert">
      {of}
    </p>
  );
}

export function KeyHint({ children }: { readonly children: ComponentChildren }) {
  return <kbd aria-hidden="true">{children}</kbd>;
}
