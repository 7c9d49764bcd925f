/** What is certain of a command that ended: how, in what, what it changed, where it is recorded. */
import { useSignal } from '@preact/signals';
import type { ExecView, Restored } from '../../client/index.ts';
import { announce } from '../live/alert.ts';
import { client } from '../live/connection.ts';
import { Problem, useActing } from '../parts/act.tsx';
import { ChangeList } from '../parts/change-list.tsx';
import { HowLetRun, Reasons } from '../parts/command-text.tsx';
import { Facts, Section } from '../parts/facts.tsx';
import { Text } from '../parts/pieces.tsx';
import { bytesOf, tookOf } from '../parts/time.tsx';
import { addressOf } from '../router.ts';

type Receipt = NonNullable<ExecView['receipt']>;

export function ReceiptView({ exec }: { readonly exec: ExecView }) {
  const { receipt } = exec;
  if (receipt === undefined) {
    return <p class="quiet">The receipt comes when the command has ended.</p>;
  }
  return (
    <>
      <Section title="Receipt" aside={<HowLetRun verdict={receipt.verdict} />}>
        <Facts of={factsOf(receipt)} />
        {[...receipt.warnings, ...receipt.hints].map((each, index) => (
          <p class="hint" key={index}>
            <Text of={each} />
          </p>
        ))}
      </Section>
      <Section title="Verdict">
        <Reasons verdict={receipt.verdict} command={exec.command} />
      </Section>
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
      is: `${receipt.exit_code}${receipt.signal === null ? '' : `, ${receipt.signal}`}`,
      loud: receipt.exit_code !== 0,
    },
    receipt.stopped === null ? null : { name: 'Ended by', is: receipt.stopped, loud: true },
    { name: 'Took', is: tookOf(receipt.duration_ms) },
    { name: 'Printed', is: bytesOf(receipt.stdout_bytes + receipt.stderr_bytes) },
    receipt.cwd === null ? null : { name: 'Ended in', is: <Text of={receipt.cwd} mono /> },
    {
      name: 'Sandbox',
      is: sandbox.kind === 'none' ? 'NONE' : `${sandbox.level}, network ${sandbox.network}`,
      loud: sandbox.kind === 'none' || sandbox.level !== 'full',
    },
    hit.length === 0
      ? null
      : { name: 'Limits hit', is: hit.map(({ name }) => name).join(', '), loud: true },
    receipt.reverted.length === 0
      ? null
      : { name: 'Put back', is: <Text of={receipt.reverted.join(', ')} mono />, loud: true },
  ];
}

function Changes({ exec, receipt }: { readonly exec: ExecView; readonly receipt: Receipt }) {
  if (receipt.snapshot === null || receipt.changes.length === 0) return null;
  const all = receipt.changes.length + receipt.changes_omitted;
  return (
    <Section title="Changes" aside={<span class="quiet">{all}</span>}>
      <ChangeList of={receipt.changes} />
      {receipt.changes_omitted > 0 && (
        <p class="quiet">{receipt.changes_omitted} more are not listed.</p>
      )}
      <p class="links">
        <a href={addressOf('changes', exec.exec_id)}>As a diff</a>
      </p>
      <Undo exec={exec} />
    </Section>
  );
}

/** In two steps: what would be put back, then the deed. */
function Undo({ exec }: { readonly exec: ExecView }) {
  const plan = useSignal<Restored | null>(null);
  const { busy, problem, act } = useActing();
  const ask = (dry_run: boolean): Promise<void> =>
    act(async () => {
      const told = await client.value?.call('exec.undo', { exec_id: exec.exec_id, dry_run });
      plan.value = told ?? null;
      if (!dry_run && told !== undefined) announce(`${told.totals.restored} changes undone`);
    });
  const told = plan.value;
  return (
    <div class="undo">
      {told === null && (
        <button type="button" disabled={busy} onClick={() => void ask(true)}>
          Undo these changes…
        </button>
      )}
      {told !== null && (
        <>
          <p role="status">
            {told.dry_run ? 'It would put back' : 'Put back'} {told.totals.restored} paths.
            {told.totals.conflicts > 0 &&
              ` ${told.totals.conflicts} were changed since and stay as they are.`}
            {told.totals.impossible > 0 && ` Of ${told.totals.impossible} nothing was kept.`}
          </p>
          {told.dry_run && told.totals.restored > 0 && (
            <p class="buttons">
              <button type="button" class="deny" disabled={busy} onClick={() => void ask(false)}>
                Put back {told.totals.restored} paths
              </button>
              <button
                type="button"
                onClick={() => {
                  plan.value = null;
                }}
              >
                Leave them
              </button>
            </p>
          )}
        </>
      )}
      <Problem of={problem} />
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
    <Section title="Hidden in the output" aside={<span class="quiet">{redactions.count}</span>}>
      <ul class="change-list">
        {redactions.entries.map(({ tag, rule, key, count }) => (
          <li key={tag}>
            <code>{tag}</code> <Text of={key === null ? rule : `${rule} ${key}`} />
            <span class="quiet">{count}×</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Recorded({ exec, receipt }: { readonly exec: ExecView; readonly receipt: Receipt }) {
  const { audit } = receipt;
  if (audit === null) return null;
  return (
    <Section title="In the audit log">
      <Facts
        of={[
          { name: 'Event', is: <code>{audit.seq}</code> },
          { name: 'Log', is: <code>{audit.log}</code> },
          { name: 'Leaf', is: <code>{audit.leaf}</code> },
          { name: 'Plan', is: <code>{receipt.plan_digest}</code> },
        ]}
      />
      <details>
        <summary>Signed head</summary>
        <pre class="head">{audit.head}</pre>
      </details>
      <p class="links">
        <a href={addressOf('audit', exec.exec_id)}>What the log tells of it</a>
      </p>
    </Section>
  );
}
