"""The words of ``bench --help`` around its flags."""

HELP_HEADING = """\
NAME
    bench - measure what mixed precision gains here, with this model, on this hardware

SYNOPSIS
    bench [--flag=value | --flag value]...

DESCRIPTION
    Trains the same model on the same data in float32 (without TF32), in TF32 where the GPU has
    it, and in mixed precision: mixed_float16 on a GPU, mixed_bfloat16 on a CPU, where float16
    would take hours. Each run is `train` in a process of its own; the arms take turns. The
    result is a table with 95 % intervals and a verdict: faster, no gain, or slower, and why.
    docs/bench.md is the guide.
"""

HELP_ENDING = """\
STOPPING AND GOING ON
    SIGTERM, SIGINT (Ctrl-C) or a lost terminal (SIGHUP) ends the run under way; the report is
    written from those that are finished. The same command with --out naming that folder goes
    on; finished runs are not repeated, failed ones are tried again, and --repeats may be
    another. Other flags, another CPU or GPU, or other variables of TensorFlow, oneDNN and
    OpenMP are a mistake then.

FILES (in the output folder, whose path has none of * ? [ ] \\)
    bench.json    settings, hardware, versions, each run, results and comparisons
    bench.html    the report as one page that loads nothing from anywhere
    bench.png     its charts
    runs/         each run: its log, config.json, summary.json, metrics.jsonl, tensorboard/

EXAMPLES
    bench
    bench --preset=compute
    bench --preset=mnist --repeats=10 --out=/workspace/runs/mnist-bench
    bench --model=mine.py:model --data=mine.npz --batch_size=256
    bench --model=cnn --batch_sizes=64,128,256,512
    bench --model=ResNet50 --data=photos --min_speedup=1.3

EXIT STATUS
    0    it was measured, and --min_speedup is met
    1    a run failed, or mixed precision gained less than --min_speedup, or the output folder
         cannot be written: stderr says which. With --batch_sizes the size that ends the row for
         want of memory is no failure
    2    a mistake in the command line or in what it names; nothing was run or written
    129  stopped by SIGHUP: what was finished is kept
    130  stopped by SIGINT: the same
    143  stopped by SIGTERM: the same
"""
