/**
 * Where programs of a bridged session find the certificates that they trust: the host's, and the
 * session's own authority, by which hosts are certified whose requests are seen. Pure.
 */
import type { EgressRules } from '../network-access.ts';
import { isEveryRequest } from './request-rules.ts';
import { parseHostRules } from './host-rules.ts';

/** Inside, on a file system that no command writes. */
const directory = '/etc/trl';
/** All that is trusted. PEM. */
export const trustedBundle = `${directory}/certificates.pem`;
/** What is trusted beyond the host's bundle. PEM. */
export const addedCertificates = `${directory}/added-certificates.pem`;
/** Managed policies, which Chromium and Chrome read: they trust no bundle. */
export const chromiumPolicies = [
  '/etc/chromium/policies/managed/trl.json',
  '/etc/opt/chrome/policies/managed/trl.json',
] as const;

/** Each is read by the programs behind it; others read the host's bundle, which is replaced. */
const bundleVariables = [
  'SSL_CERT_FILE', // OpenSSL, Go, rustls-native-certs, httpx, uv
  'CURL_CA_BUNDLE', // curl
  'REQUESTS_CA_BUNDLE', // requests
  'PIP_CERT', // pip
  'GIT_SSL_CAINFO', // git
  'AWS_CA_BUNDLE', // aws, boto3
  'CARGO_HTTP_CAINFO', // cargo
  'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', // gRPC for C++, Python, Ruby, Node
  'CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', // gcloud
  'HTTPLIB2_CA_CERTS', // httplib2
  'NIX_SSL_CERT_FILE', // nix
  'DENO_CERT', // deno
] as const;

/** Variables of a command some of whose hosts are certified by its session's authority. */
export const trustVariables: Readonly<Record<string, string>> = {
  ...Object.fromEntries(bundleVariables.map((name) => [name, trustedBundle])),
  // Beside Node's own.
  NODE_EXTRA_CA_CERTS: addedCertificates,
};

/** Whether requests to some host are seen, so that TLS to it ends at the bridge. */
export function seesRequests({ allow, deny, credentials = [] }: EgressRules): boolean {
  const rules = parseHostRules([...allow, ...deny]);
  return credentials.length > 0 || !rules.every(isEveryRequest);
}
