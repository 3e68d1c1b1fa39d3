# shellcheck shell=bash disable=SC2034 # the other parts read the variables
# The command line of all host scripts, read in one place. Every option has a
# variable of the same meaning; the option wins. A mistake ends the script here,
# before anything is installed, built or started.

declare -A TAKES_VALUE=(
  [--base]=BASE [--datasets]=DATASETS_DIR [--ca]=CA_BUNDLE [--python38]=PYTHON38 [--tag]=TAG
)
declare -A IS_FLAG=([--install-engine]=INSTALL_ENGINE [--no-cache]=NO_CACHE)

# parse_options COMMAND ALLOWED ARGUMENT...: sets the variables named above.
parse_options() {
  COMMAND=$1
  ALLOWED=$2
  local name value
  shift 2
  forget_foreign
  while (($#)); do
    name=${1%%=*}
    [[ $name != --help && $name != -h ]] || usage
    [[ $name == --* && " $ALLOWED " == *" $name "* ]] ||
      mistake "scripts/$COMMAND does not know '$1'; scripts/$COMMAND --help lists its options"
    value=''
    [[ $1 != *=* ]] || value=${1#*=}
    if [[ -v IS_FLAG[$name] ]]; then
      [[ $1 != *=* ]] || mistake "$name takes no value, '$value' was given"
      printf -v "${IS_FLAG[$name]}" yes
    elif [[ $name == --soak ]]; then
      # The count may be left out, so the next word counts only if it is one.
      SOAK=${value:-20}
      if [[ $1 != *=* && ${2:-} =~ ^[0-9]+$ ]]; then
        SOAK=$2
        shift
      fi
    else
      if [[ $1 != *=* && ${2:-} != --* ]]; then
        value=${2:-}
        (($# == 1)) || shift
      fi
      [[ -n $value ]] || mistake "$name needs a value; scripts/$COMMAND --help says which"
      printf -v "${TAKES_VALUE[$name]}" '%s' "$value"
    fi
    shift
  done
  check_options
}

# A variable counts only where its option does: TAG is a common name.
forget_foreign() {
  local option
  for option in "${!TAKES_VALUE[@]}"; do
    [[ " $ALLOWED " == *" $option "* ]] || printf -v "${TAKES_VALUE[$option]}" ''
  done
  for option in "${!IS_FLAG[@]}"; do
    [[ " $ALLOWED " == *" $option "* ]] || printf -v "${IS_FLAG[$option]}" ''
  done
  [[ " $ALLOWED " == *' --soak '* ]] || SOAK=''
}
