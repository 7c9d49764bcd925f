/** States in one word, with their colour. */
import type { ApprovalView, ExecView } from '../../client/index.ts';

export function ExecStateBadge({ exec }: { readonly exec: ExecView }) {
  const [kind, word] = stateOf(exec);
  return <span class={`pill ${kind}`}>{word}</span>;
}

function stateOf(exec: ExecView): readonly [string, string] {
  switch (exec.state) {
    case 'waiting':
      return ['ask', 'waiting'];
    case 'running':
      return ['running', 'running'];
    case 'refused':
      return ['block', 'refused'];
    case 'lost':
      return ['block', 'lost'];
    case 'exited': {
      if (exec.receipt?.timed_out === true) return ['block', 'timed out'];
      const code = exec.exit_code ?? 0;
      return code === 0 ? ['allow', 'exit 0'] : ['failed', `exit ${code}`];
    }
  }
}

const stateWords = {
  pending: ['ask', 'waiting'],
  approved: ['allow', 'approved'],
  used: ['allow', 'approved'],
  denied: ['block', 'denied'],
  expired: ['block', 'expired'],
  cancelled: ['quiet', 'withdrawn'],
  superseded: ['quiet', 'replaced'],
} as const satisfies Record<ApprovalView['state'], readonly [string, string]>;

export function ApprovalStateBadge({ of }: { readonly of: ApprovalView['state'] }) {
  const [kind, word] = stateWords[of];
  return <span class={`pill ${kind}`}>{word}</span>;
}
