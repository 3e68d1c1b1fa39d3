# shellcheck shell=bash
# One way to speak for every shell script, on the host and in the image.
# Steps go to standard output. What needs a person's eye goes to standard error.

info() { printf '%s\n' "$*"; }

warn() { printf 'warning: %s\n' "$*" >&2; }

# A user's mistake: one line with the value seen and the remedy, status 2.
mistake() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# A fault that is not the user's: one line, status 1 or the one given first.
fault() {
  local status=1
  if [[ $1 =~ ^[0-9]+$ ]]; then
    status=$1
    shift
  fi
  printf 'error: %s\n' "$*" >&2
  exit "$status"
}
