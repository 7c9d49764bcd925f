/** Paths that a command changed, and what became of each. */
import type { ChangeView } from '../../client/index.ts';
import { VisibleText } from './visible-text.tsx';

export function ChangeList({ of }: { readonly of: readonly ChangeView[] }) {
  return (
    <ul class="change-list">
      {of.map((change, index) => (
        <li key={index}>
          <span class={`change ${change.kind}`}>{change.kind}</span>
          <VisibleText of={change.path} mono />
          {change.state !== 'applied' && (
            <span class="quiet">
              {change.state}
              {change.reason !== null && `: ${change.reason}`}
            </span>
          )}
          {change.marks.includes('merged') && <span class="quiet">merged</span>}
          {typeof change.kept_as === 'string' && (
            <span class="quiet">
              its own version: <VisibleText of={`trl snapshot show ${change.kept_as}`} mono />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
