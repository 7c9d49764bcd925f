/** What somebody sees who is not signed in: how to get a link. */

export function SignedOutPage({ reason }: { readonly reason: string | null }) {
  return (
    <main class="gate">
      <h1>
        <span aria-hidden="true">❯_</span> TRL console
      </h1>
      {reason !== null && (
        <p class="problem" role="alert">
          {reason}
        </p>
      )}
      <p>Open it from the machine on which the runtime runs:</p>
      <pre class="shell">
        <code>trl console</code>
      </pre>
      <p class="quiet">
        It prints a link that works once, for five minutes, and opens it where it can. Where a
        passphrase is enrolled, it is asked for first.
      </p>
    </main>
  );
}
