/** A button that asks the runtime for something, and tells when that failed. */
import { useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { reasonOf } from '../live/connection.ts';

/** What goes on with something that was asked for. */
export interface Acting {
  readonly busy: boolean;
  /** Why the last time failed; `null`: it did not. */
  readonly problem: string | null;
  /** Does nothing while something is under way. Never rejects. */
  readonly act: (what: () => Promise<void>) => Promise<void>;
}

export function useActing(): Acting {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const act = async (what: () => Promise<void>): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await what();
    } catch (error) {
      setProblem(reasonOf(error));
    } finally {
      setBusy(false);
    }
  };
  return { busy, problem, act };
}

export function Problem({ of }: { readonly of: string | null }) {
  return of === null ? null : (
    <p class="problem" role="alert">
      {of}
    </p>
  );
}

export function Key({ children }: { readonly children: ComponentChildren }) {
  return <kbd aria-hidden="true">{children}</kbd>;
}
