/** How well-known secrets are used, by the names of their variables. */
import type { BrokerRule } from '../network-access.ts';

export interface BrokerPreset extends Partial<BrokerRule> {
  readonly names: readonly string[];
  readonly hosts: readonly string[];
  /** Where its service documents how it is sent. */
  readonly source: string;
}

/** Headers by which most services take a token. */
export const usualHeaders: readonly string[] = [
  'authorization',
  'api-key',
  'private-token',
  'x-api-key',
  'x-auth-token',
  'x-goog-api-key',
  'x-vault-token',
];

export const brokerPresets: readonly BrokerPreset[] = [
  {
    names: ['GITHUB_TOKEN', 'GH_TOKEN'],
    hosts: [
      'api.github.com',
      'github.com',
      'codeload.github.com',
      'uploads.github.com',
      'raw.githubusercontent.com',
    ],
    source: 'https://docs.github.com/rest/authentication/authenticating-to-the-rest-api',
  },
  {
    names: ['GITLAB_TOKEN', 'GITLAB_API_TOKEN'],
    hosts: ['gitlab.com', 'registry.gitlab.com'],
    headers: ['authorization', 'private-token', 'job-token'],
    source: 'https://docs.gitlab.com/api/rest/authentication/',
  },
  {
    names: ['NPM_TOKEN', 'NODE_AUTH_TOKEN'],
    hosts: ['registry.npmjs.org'],
    source: 'https://docs.npmjs.com/using-private-packages-in-a-ci-cd-workflow',
  },
  {
    names: ['TWINE_PASSWORD', 'PYPI_TOKEN', 'UV_PUBLISH_TOKEN'],
    hosts: ['upload.pypi.org', 'test.pypi.org'],
    source: 'https://docs.pypi.org/api/upload/',
  },
  {
    names: ['CARGO_REGISTRY_TOKEN'],
    hosts: ['crates.io'],
    source: 'https://doc.rust-lang.org/cargo/reference/registry-web-api.html',
  },
  {
    names: ['DOCKER_PASSWORD'],
    hosts: ['auth.docker.io', 'registry-1.docker.io', 'hub.docker.com'],
    body: ['password'],
    source: 'https://distribution.github.io/distribution/spec/auth/token/',
  },
  {
    names: ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN'],
    hosts: ['huggingface.co'],
    source: 'https://huggingface.co/docs/hub/security-tokens',
  },
  {
    names: ['OPENAI_API_KEY'],
    hosts: ['api.openai.com'],
    source: 'https://platform.openai.com/docs/api-reference/authentication',
  },
  {
    names: ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'],
    hosts: ['api.anthropic.com'],
    source: 'https://docs.anthropic.com/en/api/overview',
  },
  {
    names: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    hosts: ['generativelanguage.googleapis.com'],
    query: ['key'],
    source: 'https://ai.google.dev/gemini-api/docs/api-key',
  },
  {
    names: ['AWS_SECRET_ACCESS_KEY'],
    hosts: ['*.amazonaws.com'],
    signs: 'aws4',
    source: 'https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html',
  },
  {
    names: ['AWS_SESSION_TOKEN'],
    hosts: ['*.amazonaws.com'],
    headers: ['x-amz-security-token'],
    source:
      'https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_temp_use-resources.html',
  },
  {
    names: ['STRIPE_API_KEY', 'STRIPE_SECRET_KEY'],
    hosts: ['api.stripe.com'],
    source: 'https://docs.stripe.com/api/authentication',
  },
  {
    names: ['SLACK_TOKEN', 'SLACK_BOT_TOKEN'],
    hosts: ['slack.com'],
    body: ['token'],
    source: 'https://docs.slack.dev/authentication/tokens/',
  },
  {
    names: ['CLOUDFLARE_API_TOKEN'],
    hosts: ['api.cloudflare.com'],
    source: 'https://developers.cloudflare.com/fundamentals/api/how-to/make-api-calls/',
  },
  {
    names: ['DIGITALOCEAN_TOKEN', 'DIGITALOCEAN_ACCESS_TOKEN'],
    hosts: ['api.digitalocean.com'],
    source: 'https://docs.digitalocean.com/reference/api/',
  },
  {
    names: ['SENTRY_AUTH_TOKEN'],
    hosts: ['sentry.io', '*.sentry.io'],
    source: 'https://docs.sentry.io/api/auth/',
  },
];
