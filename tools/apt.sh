# Sourced by what installs packages of the system: tools/setup and tools/test-tools.
# shellcheck shell=sh

# Whether this user may install them.
may_apt() {
  [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

# apt_install LOG PACKAGE…: those that the distribution has; what went wrong is in LOG.
apt_install() {
  apt_log=$1
  shift
  (
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || exit
    for package do
      shift
      ! apt-cache show -- "$package" >/dev/null || set -- "$@" "$package"
    done
    [ $# = 0 ] || apt-get install -y -qq --no-install-recommends \
      -o DPkg::Lock::Timeout=120 "$@"
  ) >"$apt_log" 2>&1 </dev/null
}
