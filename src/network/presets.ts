/** Hosts that a package registry or a service is reached by, each from its own documentation. */

export interface HostPreset {
  readonly hosts: readonly string[];
  /** Where its operator, or its client's documentation, says so. */
  readonly source: string;
}

export const hostPresets = {
  npm: {
    hosts: ['registry.npmjs.org', 'registry.yarnpkg.com'],
    source: 'https://docs.npmjs.com/cli/using-npm/registry',
  },
  pypi: {
    hosts: ['pypi.org', 'files.pythonhosted.org'],
    source: 'https://docs.pypi.org/api/',
  },
  crates: {
    hosts: ['crates.io', 'index.crates.io', 'static.crates.io'],
    source: 'https://doc.rust-lang.org/cargo/reference/registries.html',
  },
  go: {
    hosts: ['proxy.golang.org', 'sum.golang.org'],
    source: 'https://go.dev/ref/mod#environment-variables',
  },
  maven: {
    hosts: ['repo.maven.apache.org', 'repo1.maven.org'],
    source: 'https://maven.apache.org/repository/',
  },
  rubygems: {
    hosts: ['rubygems.org', 'index.rubygems.org'],
    source: 'https://guides.rubygems.org/rubygems-org-api/',
  },
  debian: {
    hosts: ['deb.debian.org', 'security.debian.org'],
    source: 'https://www.debian.org/doc/manuals/debian-reference/ch02.en.html',
  },
  ubuntu: {
    hosts: ['archive.ubuntu.com', 'security.ubuntu.com', 'ports.ubuntu.com'],
    source: 'https://documentation.ubuntu.com/server/explanation/software/about-apt/',
  },
  github: {
    hosts: [
      'github.com',
      'github.com:22',
      'api.github.com',
      'codeload.github.com',
      'uploads.github.com',
      'raw.githubusercontent.com',
      'objects.githubusercontent.com',
      'release-assets.githubusercontent.com',
      'github-releases.githubusercontent.com',
    ],
    source: 'https://api.github.com/meta',
  },
  gitlab: {
    hosts: ['gitlab.com', 'gitlab.com:22', 'registry.gitlab.com'],
    source: 'https://docs.gitlab.com/user/gitlab_com/',
  },
  huggingface: {
    hosts: ['huggingface.co', '*.huggingface.co', '*.hf.co'],
    source: 'https://huggingface.co/docs/hub/security',
  },
  docker: {
    hosts: ['registry-1.docker.io', 'auth.docker.io', 'production.cloudflare.docker.com'],
    source: 'https://docs.docker.com/desktop/setup/allow-list/',
  },
} as const satisfies Readonly<Record<string, HostPreset>>;

export type HostPresetName = keyof typeof hostPresets;
export const hostPresetNames = Object.keys(hostPresets);

/** The hosts of a preset; any other word is a host rule already. */
export function expandPreset(word: string): readonly string[] {
  const presets: Readonly<Record<string, HostPreset>> = hostPresets;
  return Object.hasOwn(presets, word) ? (presets[word]?.hosts ?? []) : [word];
}
