# Sourced by the launcher and the npm scripts, with the checkout's directory in $root.
# Guarantees that set-up has run and dist/runner.js is current; leaves the Node to use in $node.
# Exports NODE_COMPILE_CACHE: without it, stripping types costs every start 40 ms.
# The way where nothing is to be done is the start-up time of every command: it forks once, for `find`.
# shellcheck shell=sh disable=SC2154

node=
stamp=$root/node_modules/.trl-setup
if [ -f "$stamp" ] &&
  [ ! "$root/package-lock.json" -nt "$stamp" ] &&
  [ ! "$root/tools/node24/package-lock.json" -nt "$stamp" ]; then
  read -r node <"$stamp" || node=
fi
if [ ! -x "$node" ]; then
  "$root/tools/setup" >&2 || return 1
  read -r node <"$stamp"
fi

export NODE_COMPILE_CACHE="$root/node_modules/.cache/node"

if [ -f "$root/src/runner/main.ts" ]; then
  runner=$root/dist/runner.js
  if [ ! -f "$runner" ] ||
    [ -n "$(find "$root/src/runner" "$root"/src/*.ts -newer "$runner" 2>/dev/null)" ]; then
    "$root/tools/build-runner" >&2 || return 1
  fi
fi
