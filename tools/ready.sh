# Sourced by the launcher and the npm scripts, with the checkout's directory in $root and in $failure
# the exit code for a checkout that cannot be made ready.
# Guarantees that set-up has run and the bundles of CLI, daemon, runner and redactor are current,
# and dist/console where it is served; leaves the Node to use in $node.
# Exports NODE_COMPILE_CACHE: without it, every start compiles anew.
# Every command waits for this: where nothing is to be done it forks once, for `find`.
# shellcheck shell=sh disable=SC2154

stamp=$root/node_modules/.trl-setup
node=
# The Node that set-up chose: the system's, or the checkout's own by its path from the root.
read_stamp() {
  read -r node <"$stamp" || node=
  case $node in /* | '') ;; *) node=$root/$node ;; esac
}

if [ -f "$stamp" ] &&
  [ ! "$root/package-lock.json" -nt "$stamp" ] &&
  [ ! "$root/tools/node24/package-lock.json" -nt "$stamp" ]; then
  read_stamp
fi
if [ ! -x "$node" ]; then
  "$root/tools/setup" >&2 || exit "$failure"
  read_stamp
fi

export NODE_COMPILE_CACHE="$root/node_modules/.cache/node"

# Whether the bundles are older than what they are made from.
stale() {
  runner=$root/dist/runner.js
  [ -f "$runner" ] && [ -f "$root/dist/cli.js" ] || return 0
  [ ! "$root/tools/build-runner" -nt "$runner" ] || return 0
  set -- -newer "$runner"
  # What was copied or moved here may bear an older date; its status tells when it came. Who cannot
  # build anew has the bundles that were copied with it.
  [ ! -w "$root/dist" ] || set -- "$@" -o -cnewer "$runner"
  found=$(changed "$@") || found=$(changed -newer "$runner") || :
  [ -n "$found" ]
}

# changed PREDICATE…; fails where `find` does not know of status, too.
changed() {
  find "$root/src" -name console -prune -o -type f \( "$@" \) -print -quit 2>/dev/null
}

if [ -f "$root/src/runner/main.ts" ] && stale; then
  "$root/tools/build-runner" >&2 || exit "$failure"
fi

# The console is for who serves it alone. One that cannot be built leaves that of before.
for word do
  case $word in serve | console | daemon) ;; *) continue ;; esac
  console=$root/dist/console/index.html
  if [ ! -f "$console" ] ||
    [ -n "$(find "$root/src/console" "$root/src/client" "$root/src/protocol" "$root"/src/*.ts \
      -newer "$console" 2>/dev/null)" ]; then
    "$root/tools/build-console" >&2 || :
  fi
  break
done
