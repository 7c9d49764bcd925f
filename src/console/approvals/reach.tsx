/** Everything besides the command that the answer binds. */
import type { ApprovalView } from '../../client/index.ts';
import { bindingText } from '../../protocol/approval.ts';
import { Facts } from '../parts/facts.tsx';
import type { Fact } from '../parts/facts.tsx';
import { Text } from '../parts/pieces.tsx';
import { tookOf } from '../parts/time.tsx';

const inputs = {
  closed: 'none',
  bytes: 'given with the command, not shown',
  open: 'open: more may be sent while it runs',
} as const;

export function Reach({ approval }: { readonly approval: ApprovalView }) {
  const { asked } = approval;
  const { sandbox, files } = asked;
  const without =
    sandbox.kind === 'none' ? 'none: it runs in the host' : 'none: a private /tmp only';
  return (
    <>
      <Facts
        of={[
          { name: 'Directory', is: <Text of={asked.cwd} mono /> },
          {
            name: 'Workspace',
            is: <Text of={asked.workspace ?? without} mono />,
          },
          {
            name: 'Network',
            is: asked.network === 'on' ? 'ON: it reaches the network' : 'off',
            loud: asked.network === 'on',
          },
          {
            name: 'Sandbox',
            is: sandbox.kind === 'none' ? 'NONE: it runs with your rights' : sandbox.level,
            loud: sandbox.kind === 'none' || sandbox.level !== 'full',
          },
          rules('May also read', files.read.allow, false),
          rules('May also write', files.write.allow, true),
          rules('May not read', files.read.deny, false),
          rules('May not write', files.write.deny, false),
          {
            name: 'Variables',
            is: <Names of={asked.variables} none="none besides the usual ones" />,
          },
          bound(asked),
          { name: 'Input', is: inputs[asked.stdin], loud: asked.stdin === 'open' },
          { name: 'Terminal', is: asked.pty ? 'yes' : 'no' },
          {
            name: 'Time-out',
            is: asked.timeout_ms === null ? 'none' : tookOf(asked.timeout_ms),
          },
          asked.language === 'python'
            ? { name: 'Run by', is: 'python3 -I, not by a shell' }
            : { name: 'Shell', is: <Text of={asked.shell.path} mono /> },
          { name: 'Asked by', is: <Text of={approval.requester} mono /> },
        ]}
      />
      <Contents approval={approval} />
      <p class="digest">
        <span class="quiet">Digest of all this</span> <code>{approval.digest}</code>
      </p>
    </>
  );
}

function bound(asked: ApprovalView['asked']): Fact | null {
  const text = bindingText(asked);
  const loud = asked.binding?.kind !== 'workspace';
  return text === null ? null : { name: 'What it runs', is: <Text of={text} />, loud };
}

function rules(name: string, paths: readonly string[], loud: boolean): Fact | null {
  return paths.length === 0 ? null : { name, is: <Names of={paths} none="" />, loud };
}

function Names({ of, none }: { readonly of: readonly string[]; readonly none: string }) {
  if (of.length === 0) return <>{none}</>;
  return (
    <ul class="names">
      {of.map((name) => (
        <li key={name}>
          <Text of={name} mono />
        </li>
      ))}
    </ul>
  );
}

function Contents({ approval }: { readonly approval: ApprovalView }) {
  const { contents } = approval.asked;
  if (contents.length === 0) return null;
  return (
    <table class="contents">
      <caption>What the command names, by content</caption>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">Path</th>
          <th scope="col">SHA-256</th>
        </tr>
      </thead>
      <tbody>
        {contents.map(({ role, name, path, sha256 }, index) => (
          <tr key={index}>
            <td>
              {role} <Text of={name} mono />
            </td>
            <td>{path === null ? 'not found' : <Text of={path} mono />}</td>
            <td class={sha256 === null ? 'loud' : 'mono'}>
              {sha256 ?? 'nobody can look into it beforehand'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
