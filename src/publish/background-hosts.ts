/** Hosts that everybody refers to: standards, package registries, documentation, forges. */

const publicHosts = new Set(
  `w3.org ietf.org rfc-editor.org iana.org unicode.org iso.org whatwg.org ecma-international.org
  tc39.es json-schema.org schema.org spdx.org opensource.org creativecommons.org gnu.org fsf.org
  apache.org mozilla.org wikipedia.org wikimedia.org stackoverflow.com stackexchange.com github.com
  githubusercontent.com github.io gitlab.com bitbucket.org sourceforge.net npmjs.com npmjs.org
  nodejs.org typescriptlang.org eslint.org python.org pypi.org readthedocs.io readthedocs.org
  debian.org ubuntu.com kernel.org freedesktop.org gnome.org kde.org perl.org cpan.org metacpan.org
  rust-lang.org crates.io docs.rs golang.org go.dev ruby-lang.org rubygems.org php.net oracle.com
  java.com maven.org microsoft.com google.com googleapis.com googlesource.com chromium.org
  webkit.org apple.com amazon.com jquery.com reactjs.org react.dev vuejs.org babeljs.io
  webpack.js.org rollupjs.org vitejs.dev unpkg.com jsdelivr.net cloudflare.com cdnjs.com shields.io
  travis-ci.org travis-ci.com codecov.io coveralls.io badge.fury.io opencollective.com
  patreon.com tidelift.com paypal.me twitter.com x.com youtube.com medium.com gitter.im discord.gg
  discord.com slack.com
  conventionalcommits.org semver.org keepachangelog.com contributor-covenant.org editorconfig.org
  example.com example.org example.net localhost bugs.chromium.org crbug.com caniuse.com
  web.dev reproducible-builds.org openssl.org curl.se sqlite.org postgresql.org mysql.com
  docker.com kubernetes.io ansible.com opengroup.org ieee.org acm.org doi.org arxiv.org`
    .trim()
    .split(/\s+/),
);

/** The part of a host name that is one of them; `''`: none is. */
export function publicSuffix(host: string): string {
  const parts = host.toLowerCase().split('.');
  return parts.map((_, i) => parts.slice(i).join('.')).find((name) => publicHosts.has(name)) ?? '';
}
