/** Everything besides the command that the approval binds. */
import { networkText, normalNetworkAccess } from '../../network-access.ts';
import type { ApprovalView } from '../../client/index.ts';
import { bindingText } from '../../client/approval-text.ts';
import { DetailList } from '../components/detail-list.tsx';
import type { DetailRow } from '../components/detail-list.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { formatElapsedTime } from '../components/time.tsx';

const inputs = {
  closed: 'none',
  bytes: 'given with the command, not shown',
  open: 'open: more may be sent while it runs',
} as const;

export function ApprovalExposure({ approval }: { readonly approval: ApprovalView }) {
  const { asked } = approval;
  const { sandbox, files } = asked;
  const without =
    sandbox.kind === 'none' ? 'none: it runs on the host' : 'none: a private /tmp only';
  return (
    <>
      <DetailList
        of={[
          { name: 'Directory', value: <VisibleText of={asked.cwd} mono /> },
          {
            name: 'Workspace',
            value: <VisibleText of={asked.workspace ?? without} mono />,
          },
          {
            name: 'Network',
            value: networkText(normalNetworkAccess(asked.network), asked.hosts),
            isProminent: asked.network !== 'off',
          },
          {
            name: 'Sandbox',
            value: sandbox.kind === 'none' ? 'NONE: it runs with your rights' : sandbox.level,
            isProminent: sandbox.kind === 'none' || sandbox.level !== 'full',
          },
          rules('May also read', files.read.allow, false),
          rules('May also write', files.write.allow, true),
          rules('May not read', files.read.deny, false),
          rules('May not write', files.write.deny, false),
          {
            name: 'Variables',
            value: <Names of={asked.variables} none="none besides the usual ones" />,
          },
          bound(asked),
          { name: 'Input', value: inputs[asked.stdin], isProminent: asked.stdin === 'open' },
          { name: 'Terminal', value: asked.pty ? 'yes' : 'no' },
          {
            name: 'Time-out',
            value: asked.timeout_ms === null ? 'none' : formatElapsedTime(asked.timeout_ms),
          },
          asked.language === 'python'
            ? { name: 'Run by', value: 'python3 -I, not by a shell' }
            : { name: 'Shell', value: <VisibleText of={asked.shell.path} mono /> },
          { name: 'Requested by', value: <VisibleText of={approval.requester} mono /> },
        ]}
      />
      <Contents approval={approval} />
      <p class="digest">
        <span class="quiet">Digest of all this</span> <code>{approval.digest}</code>
      </p>
    </>
  );
}

function bound(asked: ApprovalView['asked']): DetailRow | null {
  const text = bindingText(asked);
  const loud = asked.binding?.kind !== 'workspace';
  return text === null
    ? null
    : { name: 'What it runs', value: <VisibleText of={text} />, isProminent: loud };
}

function rules(name: string, paths: readonly string[], loud: boolean): DetailRow | null {
  return paths.length === 0
    ? null
    : { name, value: <Names of={paths} none="" />, isProminent: loud };
}

function Names({ of, none }: { readonly of: readonly string[]; readonly none: string }) {
  if (of.length === 0) return <>{none}</>;
  return (
    <ul class="names">
      {of.map((name) => (
        <li key={name}>
          <VisibleText of={name} mono />
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
              {role} <VisibleText of={name} mono />
            </td>
            <td>{path === null ? 'not found' : <VisibleText of={path} mono />}</td>
            <td class={sha256 === null ? 'loud' : 'mono'}>
              {sha256 ?? 'cannot be checked beforehand'}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
