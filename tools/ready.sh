# Sourced by the launcher and the npm scripts, with the checkout's directory in $trl_root and in
# $trl_failure the exit code for a checkout that cannot be made ready.
# Guarantees that set-up has run and the bundles of CLI, daemon, runner and redactor are current,
# and dist/console where it is served; leaves the Node to use in $trl_node.
# Its names begin with trl_: one that the caller has exported would pass on with a value from here.
# Exports NODE_COMPILE_CACHE, if the caller has none: without it, every start compiles anew. What
# TRL_COMPILE_CACHE names as well is for Node alone: no command gets either.
# Every command waits for this: where nothing is to be done it forks once, for `find`.
# shellcheck shell=sh disable=SC2154

trl_stamp=$trl_root/node_modules/.trl-setup
trl_node=
# The Node that set-up chose: the system's, or the checkout's own by its path from the root.
read_stamp() {
  read -r trl_node <"$trl_stamp" || trl_node=
  case $trl_node in /* | '') ;; *) trl_node=$trl_root/$trl_node ;; esac
}

if [ -f "$trl_stamp" ] &&
  [ ! "$trl_root/package-lock.json" -nt "$trl_stamp" ] &&
  [ ! "$trl_root/tools/node24/package-lock.json" -nt "$trl_stamp" ]; then
  read_stamp
fi
if [ ! -x "$trl_node" ]; then
  "$trl_root/tools/setup" >&2 || exit "$trl_failure"
  read_stamp
fi

if [ -z "${NODE_COMPILE_CACHE-}" ]; then
  export NODE_COMPILE_CACHE="$trl_root/node_modules/.cache/node"
  export TRL_COMPILE_CACHE="$NODE_COMPILE_CACHE"
fi

# Whether the bundles are older than what they are made from.
stale() {
  trl_runner=$trl_root/dist/runner.js
  [ -f "$trl_runner" ] && [ -f "$trl_root/dist/cli.js" ] || return 0
  [ ! "$trl_root/tools/build-runner" -nt "$trl_runner" ] || return 0
  set -- -newer "$trl_runner"
  # What was copied or moved here may bear an older date; its status tells when it came. Who cannot
  # build anew has the bundles that were copied with it.
  [ ! -w "$trl_root/dist" ] || set -- "$@" -o -cnewer "$trl_runner"
  trl_found=$(changed "$@") || trl_found=$(changed -newer "$trl_runner") || :
  [ -n "$trl_found" ]
}

# changed PREDICATE…; fails where `find` does not know of status, too.
changed() {
  find "$trl_root/src" -name console -prune -o -type f \( "$@" \) -print -quit 2>/dev/null
}

if [ -f "$trl_root/src/runner/main.ts" ] && stale; then
  "$trl_root/tools/build-runner" >&2 || exit "$trl_failure"
fi

# The console is for who serves it alone. One that cannot be built leaves that of before.
for trl_word do
  case $trl_word in serve | console | daemon) ;; *) continue ;; esac
  trl_console=$trl_root/dist/console/index.html
  if [ ! -f "$trl_console" ] ||
    [ -n "$(find "$trl_root/src/console" "$trl_root/src/client" "$trl_root/src/protocol" \
      "$trl_root"/src/*.ts -newer "$trl_console" 2>/dev/null)" ]; then
    "$trl_root/tools/build-console" >&2 || :
  fi
  break
done
