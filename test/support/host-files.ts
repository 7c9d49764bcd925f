/** Files of a host, for `fake-root.ts`. */
import type { Tree } from './fake-root.ts';

export const program = [0o755, '#!/bin/sh\n'] as const;
export const system: Tree = {
  '/usr/bin/sh': program,
  '/usr/bin/bash': program,
  '/usr/bin/perl': program,
  '/usr/bin/nsenter': program,
  '/usr/sbin': '/',
  '/usr/local/bin': '/',
  '/usr/local/sbin': '/',
  '/bin': '-> usr/bin',
  '/sbin': '-> usr/sbin',
  '/lib': '-> usr/lib',
  '/lib64': '-> usr/lib64',
  '/usr/lib': '/',
  '/opt': '/',
  '/srv': '/',
  '/sys/devices/system/cpu': '/',
};
/** Where a version manager, a link and credentials lie. */
export const home: Tree = {
  '/home/ada/.cargo/bin/cargo': program,
  '/home/ada/.rustup/settings.toml': '',
  '/home/ada/.nvm/versions/node/v24/bin/node': program,
  '/home/ada/.nvm/versions/node/v24/etc/npmrc': 'token',
  '/home/ada/.cargo/credentials.toml': 'token',
  '/home/ada/.local/bin/tool': '-> ../../apps/tool/bin/tool',
  '/home/ada/apps/tool/bin/tool': program,
  '/home/ada/apps/tool/lib/a': '',
  '/home/ada/apps/tool/share/a': '',
};
