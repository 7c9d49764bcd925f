/** The receipt of a command that ended: exit, sandbox, changes, record. */
import { useSignal } from '@preact/signals';
import type { ExecView, RestoreAnswer } from '../../client/index.ts';
import { announce } from '../live/alert.ts';
import { currentClient } from '../live/connection.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { ChangeList } from '../components/diff.tsx';
import { RunAuthorizationNote, VerdictReasons } from '../components/command-text.tsx';
import { DetailList, DetailSection } from '../components/detail-list.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { formatByteCount, formatElapsedTime } from '../components/time.tsx';
import { consoleHref } from '../router.ts';

type Receipt = NonNullable<ExecView['receipt']>;

export function ReceiptPane({ exec }: { readonly exec: ExecView }) {
  const { receipt } = exec;
  if (receipt === undefined) {
    return <p class="quiet">The receipt appears when the command has ended.</p>;
  }
  return (
    <>
      <DetailSection title="Receipt" aside={<RunAuthorizationNote verdict={receipt.verdict} />}>
        <DetailList of={factsOf(receipt)} />
        {[...receipt.warnings, ...receipt.hints].map((each, index) => (
          <p class="hint" key={index}>
            <VisibleText of={each} />
          </p>
        ))}
      </DetailSection>
      <DetailSection title="Verdict">
        <VerdictReasons verdict={receipt.verdict} command={exec.command} />
      </DetailSection>
      <Changes exec={exec} receipt={receipt} />
      <Hidden receipt={receipt} />
      <Recorded exec={exec} receipt={receipt} />
    </>
  );
}

function factsOf(receipt: Receipt) {
  const { sandbox, limits } = receipt;
  const hit = limits.filter((limit) => limit.hit === true);
  return [
    {
      name: 'Exit',
      value: `${receipt.exit_code}${receipt.signal === null ? '' : `, ${receipt.signal}`}`,
      isProminent: receipt.exit_code !== 0,
    },
    receipt.stopped === null
      ? null
      : { name: 'Ended by', value: receipt.stopped, isProminent: true },
    { name: 'Took', value: formatElapsedTime(receipt.duration_ms) },
    { name: 'Printed', value: formatByteCount(receipt.stdout_bytes + receipt.stderr_bytes) },
    receipt.cwd === null
      ? null
      : { name: 'Ended in', value: <VisibleText of={receipt.cwd} mono /> },
    {
      name: 'Sandbox',
      value: sandbox.kind === 'none' ? 'NONE' : `${sandbox.level}, network ${sandbox.network}`,
      isProminent: sandbox.kind === 'none' || sandbox.level !== 'full',
    },
    hit.length === 0
      ? null
      : { name: 'Limits hit', value: hit.map(({ name }) => name).join(', '), isProminent: true },
    receipt.reverted.length === 0
      ? null
      : {
          name: 'Restored',
          value: <VisibleText of={receipt.reverted.join(', ')} mono />,
          isProminent: true,
        },
  ];
}

function Changes({ exec, receipt }: { readonly exec: ExecView; readonly receipt: Receipt }) {
  if (receipt.snapshot === null || receipt.changes.length === 0) return null;
  const all = receipt.changes.length + receipt.changes_omitted;
  return (
    <DetailSection title="Changes" aside={<span class="quiet">{all}</span>}>
      <ChangeList of={receipt.changes} />
      {receipt.changes_omitted > 0 && (
        <p class="quiet">{receipt.changes_omitted} more are not listed.</p>
      )}
      <p class="links">
        <a href={consoleHref('changes', exec.exec_id)}>As a diff</a>
      </p>
      <Undo exec={exec} />
    </DetailSection>
  );
}

/** In two steps: a preview of the undo, then the undo. */
function Undo({ exec }: { readonly exec: ExecView }) {
  const plan = useSignal<RestoreAnswer | null>(null);
  const { busy, problem, perform: act } = useAction();
  const ask = (dry_run: boolean): Promise<void> =>
    act(async () => {
      const answer = await currentClient.value?.call('exec.undo', {
        exec_id: exec.exec_id,
        dry_run,
      });
      plan.value = answer ?? null;
      if (!dry_run && answer !== undefined) announce(`${answer.totals.restored} changes undone`);
    });
  const preview = plan.value;
  return (
    <div class="undo">
      {preview === null && (
        <button type="button" disabled={busy} onClick={() => void ask(true)}>
          Undo these changes…
        </button>
      )}
      {preview !== null && (
        <>
          <p role="status">
            {preview.dry_run ? 'It would restore' : 'Restored'} {preview.totals.restored} paths.
            {preview.totals.conflicts > 0 &&
              ` ${preview.totals.conflicts} were changed since and remain unchanged.`}
            {preview.totals.impossible > 0 &&
              ` Of ${preview.totals.impossible} nothing was stored.`}
          </p>
          {preview.dry_run && preview.totals.restored > 0 && (
            <p class="buttons">
              <button type="button" class="deny" disabled={busy} onClick={() => void ask(false)}>
                Restore {preview.totals.restored} paths
              </button>
              <button
                type="button"
                onClick={() => {
                  plan.value = null;
                }}
              >
                Cancel
              </button>
            </p>
          )}
        </>
      )}
      <ActionError of={problem} />
    </div>
  );
}

function Hidden({ receipt }: { readonly receipt: Receipt }) {
  const { redactions } = receipt;
  if (redactions === null) {
    return <p class="problem">Redaction failed: output is missing.</p>;
  }
  if (redactions.count === 0) return null;
  return (
    <DetailSection
      title="Hidden in the output"
      aside={<span class="quiet">{redactions.count}</span>}
    >
      <ul class="change-list">
        {redactions.entries.map(({ tag, rule, key, count }) => (
          <li key={tag}>
            <code>{tag}</code> <VisibleText of={key === null ? rule : `${rule} ${key}`} />
            <span class="quiet">{count}×</span>
          </li>
        ))}
      </ul>
    </DetailSection>
  );
}

function Recorded({ exec, receipt }: { readonly exec: ExecView; readonly receipt: Receipt }) {
  const { audit } = receipt;
  if (audit === null) return null;
  return (
    <DetailSection title="In the audit log">
      <DetailList
        of={[
          { name: 'Event', value: <code>{audit.seq}</code> },
          { name: 'Log', value: <code>{audit.log}</code> },
          { name: 'Leaf', value: <code>{audit.leaf}</code> },
          { name: 'Plan', value: <code>{receipt.plan_digest}</code> },
        ]}
      />
      <details>
        <summary>Signed head</summary>
        <pre class="head">{audit.head}</pre>
      </details>
      <p class="links">
        <a href={consoleHref('audit', exec.exec_id)}>Its events in the log</a>
      </p>
    </DetailSection>
  );
}
