/**
 * The certificate authority of a session whose requests may be seen, and the files by which its
 * programs trust it. Its key is in the memory of the runner and of the egress process alone.
 */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { SandboxNamespace } from '../command.ts';
import { makeAuthority } from '../egress/certificates.ts';
import type { BridgeAuthority } from '../egress/wire.ts';
import { certificatePattern } from '../network/root-certificates.ts';
import type { BridgedView, TrustFormat } from '../network-access.ts';
import { javaTrustStore } from './java-trust-store.ts';

export interface SessionTrust {
  readonly authority: BridgeAuthority;
  readonly files: SandboxNamespace['files'];
}

export function makeSessionTrust({ bundle, roots: added, trust }: BridgedView): SessionTrust {
  const own = makeAuthority();
  const roots = [...hostCertificates(bundle), ...added];
  const beyond = [...added, own.certificate];
  const all = [...roots, own.certificate];
  const contents: Readonly<Record<TrustFormat, () => Buffer>> = {
    bundle: () => Buffer.from(pemText(all)),
    added: () => Buffer.from(pemText(beyond)),
    java: () => javaTrustStore(all.map(derOf)),
    chromium: () =>
      Buffer.from(JSON.stringify({ CACertificates: beyond.map((one) => base64Of(one)) })),
  };
  const made = new Map<TrustFormat, string>();
  const base64 = (format: TrustFormat): string => {
    const text = made.get(format) ?? contents[format]().toString('base64');
    made.set(format, text);
    return text;
  };
  return {
    authority: { ...own, roots },
    files: trust.map(({ fd, as }) => ({ fd, base64: base64(as) })),
  };
}

/** Node's own where the host has no bundle. */
function hostCertificates(bundle: string | null): readonly string[] {
  if (bundle === null) return rootCertificates;
  const found = readFileSync(bundle, 'utf8').match(certificatePattern) ?? [];
  return found.length === 0 ? rootCertificates : found;
}

const pemText = (all: readonly string[]): string => all.map((one) => `${one.trim()}\n`).join('');
const base64Of = (pem: string): string => pem.replaceAll(/-----[A-Z ]+-----|\s/g, '');
const derOf = (pem: string): Buffer => Buffer.from(base64Of(pem), 'base64');
