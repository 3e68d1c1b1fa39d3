"""The words of ``audit --help`` around its flags."""

HELP_HEADING = """\
NAME
    audit - what would mixed precision break in this model?

SYNOPSIS
    audit --model=NAME|FUNCTION|FOLDER|FILE.h5 [--data=…] [--flag=value]...

DESCRIPTION
    A linter for mixed_float16. Without data it looks at the layers and at the graph of a training
    step: types, softmax and losses in float16, epsilons that vanish, sizes, the optimizer. With
    data it measures, in float32, how far the activations and gradients of each layer reach, and
    says which layers should stay in float32 and which loss scale to begin with. Nothing is
    trained. docs/audit.md is the guide.
"""

HELP_ENDING = """\
FILES (in the output folder)
    audit.json    layers, findings, ranges, advice
    audit.html    the same as one page with a picture of the ranges; it loads nothing from anywhere

EXAMPLES
    audit --model=mine.py:model --input_shape=64,64,3
    audit --model=mine.py:model --data=mine.npz
    audit --model=ResNet50 --data=photos --batches=4
    audit --model=mine.h5 --data=mine.npz

EXIT STATUS
    0    no finding of level error
    1    a finding of level error
    2    a mistake in the command line or in what it names; nothing was written
"""
