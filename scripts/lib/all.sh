# shellcheck shell=bash
# Loads every part. Order does not matter: the parts define functions and constants.

LIB=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=scripts/lib/common.sh
source "$LIB/common.sh"
# shellcheck source=scripts/lib/options.sh
source "$LIB/options.sh"
# shellcheck source=scripts/lib/option-values.sh
source "$LIB/option-values.sh"
# shellcheck source=scripts/lib/usage.sh
source "$LIB/usage.sh"
# shellcheck source=scripts/lib/engine.sh
source "$LIB/engine.sh"
# shellcheck source=scripts/lib/install-engine.sh
source "$LIB/install-engine.sh"
# shellcheck source=scripts/lib/gpu.sh
source "$LIB/gpu.sh"
# shellcheck source=scripts/lib/venv.sh
source "$LIB/venv.sh"
# shellcheck source=scripts/lib/python38.sh
source "$LIB/python38.sh"
# shellcheck source=scripts/lib/base.sh
source "$LIB/base.sh"
# shellcheck source=scripts/lib/datasets.sh
source "$LIB/datasets.sh"
# shellcheck source=scripts/lib/image.sh
source "$LIB/image.sh"
# shellcheck source=scripts/lib/settings.sh
source "$LIB/settings.sh"
# shellcheck source=scripts/lib/remember.sh
source "$LIB/remember.sh"
# shellcheck source=scripts/lib/compose.sh
source "$LIB/compose.sh"
# shellcheck source=scripts/lib/ready.sh
source "$LIB/ready.sh"
# shellcheck source=scripts/lib/report.sh
source "$LIB/report.sh"
