/** Secrets that agents request, and the names of known ones. Values go only to the runtime. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { SecretListAnswer, SecretRequestView } from '../../client/index.ts';
import { announce } from '../live/alert.ts';
import { currentClient } from '../live/connection.ts';
import { secretRequests } from '../live/store.ts';
import { ActionError, useAction } from '../components/action.tsx';
import { EmptyState, DetailSection } from '../components/detail-list.tsx';
import { VisibleText } from '../components/visible-text.tsx';
import { TimeAgo, TimeUntil } from '../components/time.tsx';
import { SecretValueForm } from './secret-value-form.tsx';

export function SecretsPage() {
  const requests = secretRequests.value;
  const other = useSignal('');
  return (
    <>
      <header class="view-head">
        <h1>Secrets</h1>
        <p class="quiet">
          A value typed here goes to the runtime's memory and nowhere else. It is never shown again.
        </p>
      </header>
      <DetailSection title="Requested" aside={<span class="quiet">{requests.length}</span>}>
        {requests.length === 0 ? (
          <EmptyState title="No agent asks for a secret" />
        ) : (
          <ul class="cards wide">
            {requests.map((request) => (
              <Request key={`${request.name} ${request.requested_at}`} request={request} />
            ))}
          </ul>
        )}
      </DetailSection>
      <DetailSection title="Give another one">
        <div class="give">
          <label>
            Name
            <input
              type="text"
              class="mono"
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              placeholder="DEPLOY_TOKEN"
              value={other.value}
              onInput={(event) => {
                other.value = event.currentTarget.value;
              }}
            />
          </label>
          <SecretValueForm
            name={other.value.trim()}
            given={() => {
              other.value = '';
            }}
          />
        </div>
      </DetailSection>
      <Names requestCount={requests.length} />
    </>
  );
}

function Request({ request }: { readonly request: SecretRequestView }) {
  const { name, reason, requester } = request;
  return (
    <li class="card request">
      <p class="title">
        <VisibleText of={name} mono />
        <span class="quiet">
          <TimeAgo at={request.requested_at} /> · <TimeUntil at={request.expires_at} />
        </span>
      </p>
      <blockquote>
        <VisibleText of={reason} />
      </blockquote>
      <p class="quiet">
        This is the message of <VisibleText of={requester} mono />, not of the runtime.
      </p>
      <SecretValueForm name={name} given={() => announce(`${name} was set`)} />
    </li>
  );
}

function Names({ requestCount }: { readonly requestCount: number }) {
  const list = useSignal<SecretListAnswer | null>(null);
  const { problem, perform: act, busy } = useAction();
  const asks = currentClient.value;
  const read = (): Promise<void> =>
    act(async () => {
      list.value = (await asks?.call('secrets.list', {})) ?? null;
    });
  useEffect(() => {
    if (asks !== null) void read();
  }, [asks, requestCount]);
  const known = list.value?.secrets ?? [];
  return (
    <DetailSection
      title="Names that are there"
      aside={
        <button type="button" class="small" disabled={busy} onClick={() => void read()}>
          Read again
        </button>
      }
    >
      {known.length === 0 ? (
        <EmptyState title="No name is known" />
      ) : (
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">From</th>
              <th scope="col">Last used</th>
            </tr>
          </thead>
          <tbody>
            {known.map(({ name, source, origin, last_used: used }) => (
              <tr key={name}>
                <td>
                  <VisibleText of={name} mono />
                </td>
                <td>
                  {source} {origin !== null && <VisibleText of={origin} mono />}
                </td>
                <td>{used === null ? 'not yet' : <TimeAgo at={used} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {list.value?.problems.map(({ source, problem: told }, index) => (
        <p class="hint" key={index}>
          {source}: <VisibleText of={told} />
        </p>
      ))}
      <ActionError of={problem} />
    </DetailSection>
  );
}
