/** Names and values, in rows. */
import type { ComponentChildren } from 'preact';

export interface DetailRow {
  readonly name: string;
  readonly value: ComponentChildren;
  /** Whether it deserves attention. */
  readonly isProminent?: boolean;
}

export function DetailList({ of }: { readonly of: readonly (DetailRow | null)[] }) {
  const rows = of.filter((fact) => fact !== null);
  return (
    <dl class="facts">
      {rows.map(({ name, value: is, isProminent: loud }) => (
        <div key={name} class={loud === true ? 'loud' : ''}>
          <dt>{name}</dt>
          <dd>{is}</dd>
        </div>
      ))}
    </dl>
  );
}

export function DetailSection({
  title,
  children,
  aside,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}) {
  return (
    <section class="section">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

/** The text of an empty view: what will appear there, and when. */
export function EmptyState({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}
