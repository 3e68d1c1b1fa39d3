# shellcheck shell=bash
# The linters, each over all files of its kind. Needs VENV.

# Everything in the checkout but what is made here, each name ended by a zero byte.
files() {
  find "$REPO" \( -path "$REPO/.git" -o -path "$CACHE" \) -prune -o -type f -print0
}

# Shell files go by extension or by their first line. zsh and the like are not ours.
shell_files() {
  local file first
  while IFS= read -r -d '' file; do
    IFS= read -r first <"$file" 2>/dev/null || first=''
    if [[ $file == *.sh || $first =~ ^'#!'.*[/\ ](ba|da)?sh($|[[:space:]]) ]]; then
      printf '%s\0' "$file"
    fi
  done < <(files)
}

lint_shell() {
  shell_files | xargs -0 "$VENV/bin/shellcheck" --external-sources
}

lint_dockerfiles() {
  files | grep -zE '/(Dockerfile(\.[^/]*)?|[^/]*\.Dockerfile)$' |
    xargs -0 "$VENV/bin/hadolint" --config "$REPO/.hadolint.yaml"
}

lint_python() {
  (cd "$REPO" && "$VENV/bin/ruff" check --quiet . && "$VENV/bin/ruff" format --check --quiet .)
}
