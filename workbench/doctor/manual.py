"""The words of ``doctor --help`` around its flags."""

HELP_HEADING = """\
NAME
    doctor - is this machine right for mixed precision, and if not, what to do?

SYNOPSIS
    doctor [--deep] [--json]
    doctor --run=DIR [--json]
    doctor --log=FILE|- [--json]

DESCRIPTION
    Looks at the machine and this container: GPUs, driver, CUDA, CPU, memory, disk, ports. It
    names the policy that fits the hardware, and for each fault its cause and remedy. With --run
    or --log it looks at a training's folder or at a log instead. TensorFlow is loaded by --deep
    only. docs/doctor.md is the guide.
"""

HELP_ENDING = """\
EXAMPLES
    doctor
    doctor --deep
    doctor --run=/workspace/runs/20261207-101500-mlp
    docker logs NAME 2>&1 | docker run -i --rm tf29-workbench doctor --log=-

EXIT STATUS
    0    nothing is wrong; a machine without a GPU is right for work on its CPU
    1    something is wrong: a finding of level error
    2    a mistake in the command line or in what it names
"""
