# shellcheck shell=bash disable=SC2034 # the other parts read the variables
# What scripts/benchmark takes, and how it runs a command: in a container, or with a Python here.

BENCHMARK_OPTIONS='--repeats --epochs --policy --monitoring --first-step --cores --local --out'
TAKES_VALUE+=(
  [--repeats]=BENCHMARK_REPEATS [--epochs]=BENCHMARK_EPOCHS [--policy]=BENCHMARK_POLICY
  [--cores]=BENCHMARK_CORES [--local]=BENCHMARK_LOCAL [--out]=BENCHMARK_OUT
)
IS_FLAG+=(['--monitoring']=BENCHMARK_MONITORING ['--first-step']=BENCHMARK_FIRST_STEP)

# In place of the builders' list: none of their options counts here.
describe() {
  case $1 in
    --repeats) row '--repeats N' 'pairs of runs, with the seeds 0 to N-1; default: 5 [BENCHMARK_REPEATS]' ;;
    --epochs) row '--epochs N' 'epochs of each run; default: 5 [BENCHMARK_EPOCHS]' ;;
    --policy) row '--policy NAME' 'also train --policy=NAME; with --monitoring or --first-step: that' \
      'instead of the default policy [BENCHMARK_POLICY]' ;;
    --monitoring) row '--monitoring' 'compare the usual log with the least one instead' \
      '[BENCHMARK_MONITORING=yes]' ;;
    --first-step) row '--first-step' 'time from the start to the first training step instead' \
      '[BENCHMARK_FIRST_STEP=yes]' ;;
    --cores) row '--cores LIST' 'run on these CPU cores, such as 0,1; default: all' \
      '[BENCHMARK_CORES]' ;;
    --local) row '--local PYTHON' 'run with this Python, which has TensorFlow, not in containers;' \
      'WORKBENCH_DATASETS names the folder with mnist.npz [BENCHMARK_LOCAL]' ;;
    --out) row '--out FILE' 'also write the figures to this JSON file [BENCHMARK_OUT]' ;;
  esac
}

check_benchmark() {
  local monitoring first_step
  REPEATS=${BENCHMARK_REPEATS:-5}
  EPOCHS=${BENCHMARK_EPOCHS:-5}
  POLICY=${BENCHMARK_POLICY:-}
  CORES=${BENCHMARK_CORES:-}
  LOCAL=${BENCHMARK_LOCAL:-}
  OUT=${BENCHMARK_OUT:-}
  monitoring=$(yes_or_no --monitoring BENCHMARK_MONITORING)
  first_step=$(yes_or_no --first-step BENCHMARK_FIRST_STEP)
  [[ $REPEATS =~ ^[1-9][0-9]{0,3}$ ]] || mistake "--repeats takes a count of at least 1, not '$REPEATS'"
  [[ $EPOCHS =~ ^[1-9][0-9]{0,3}$ ]] || mistake "--epochs takes a count of at least 1, not '$EPOCHS'"
  [[ $POLICY =~ ^(|float32|mixed_float16|mixed_bfloat16)$ ]] ||
    mistake "--policy is float32, mixed_float16 or mixed_bfloat16, not '$POLICY'"
  [[ $CORES =~ ^([0-9]+([-,][0-9]+)*)?$ ]] || mistake "--cores is a list such as 0,1 or 0-3, not '$CORES'"
  [[ -z $monitoring || -z $first_step ]] || mistake "--monitoring and --first-step exclude each other: leave out one"
  MODE=${monitoring:+monitoring}${first_step:+first-step}
  MODE=${MODE:-speed}
  [[ $MODE != speed || $POLICY != float32 ]] || mistake "--policy=float32 is measured anyway: leave it out"
  if [[ -n $LOCAL ]]; then
    [[ -n $(type -P -- "$LOCAL") ]] || mistake "--local: no program '$LOCAL'"
    [[ -r ${WORKBENCH_DATASETS:-}/mnist.npz ]] ||
      mistake "--local: no mnist.npz in '${WORKBENCH_DATASETS:-}': name its folder by WORKBENCH_DATASETS"
    LOCAL=$(realpath --no-symlinks -- "$(type -P -- "$LOCAL")")
  fi
  [[ -z $OUT || -d $(dirname -- "$OUT") ]] || mistake "--out: no folder '$(dirname -- "$OUT")' for '$OUT'"
}

# inside SCRIPT ARGUMENT...: run bash with that script; `train`, `listing` and an empty folder
# $SCRATCH are there in both places.
inside() {
  local script=$1
  shift
  if [[ -n $LOCAL ]]; then
    SCRATCH=$(mktemp -d) PYTHON=$LOCAL ROOT=$REPO ${CORES:+taskset --cpu-list "$CORES"} bash -c "
      trap 'rm -rf -- \"\$SCRATCH\"' EXIT
      train() { \"\$PYTHON\" \"\$ROOT/train.py\" \"\$@\"; }
      listing() { \"\$PYTHON\" \"\$ROOT/tests/yardstick/listing.py\" \"\$@\"; }
      $script" inside "$@" </dev/null
  else
    docker run --rm --pull never ${CORES:+--cpuset-cpus "$CORES"} --env SCRATCH=/tmp \
      --volume "$REPO/tests/yardstick:/yardstick:ro" "$IMAGE" bash -c "
      listing() { python /yardstick/listing.py \"\$@\"; }
      $script" inside "$@" </dev/null
  fi
}
