[ -z "$PS1" ] && return

# The official image starts the same way: a shell without a prompt stops above.
export PS1="\[\e[33m\]tf-docker\[\e[0m\] \w > "
export TERM=xterm-256color
alias ls='ls --color=auto'
alias grep='grep --color=auto'

if [ "$EUID" -eq 0 ]; then
  printf '\033[31mWARNING: you are root in this container. Files that you write to a\n'
  printf 'mounted folder will belong to root on the host. To be yourself instead:\n\n'
  # shellcheck disable=SC2016  # the command is shown, not run
  printf '    docker run -u $(id -u):$(id -g) ...\033[0m\n\n'
else
  printf 'You are uid %s, gid %s in this container.\n\n' "$(id -u)" "$(id -g)"
fi
