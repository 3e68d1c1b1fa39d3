"""The arms of a benchmark: the precisions that this hardware lets compare."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from workbench.hardware import Gpu
from workbench.settings import SCALING_FLAGS

# The first compute capability with TF32 (NVIDIA, "Ampere GPU Architecture Tuning Guide").
FIRST_WITH_TF32 = (8, 0)


class Arm(NamedTuple):
    """An arm: its name in the results, and the policy and TF32 that train is given."""

    name: str
    policy: str
    tf32: str


FLOAT32 = Arm("float32", "float32", "off")
TF32 = Arm("tf32", "float32", "on")
MIXED_FLOAT16 = Arm("mixed_float16", "mixed_float16", "on")
# On a CPU, where mixed_float16 is about a hundred times slower than float32.
MIXED_BFLOAT16 = Arm("mixed_bfloat16", "mixed_bfloat16", "on")


def arms(gpu: Gpu | None) -> list[Arm]:
    """Return the arms for the GPU in use, or for the CPU; each is measured against the first."""
    if gpu is None:
        return [FLOAT32, MIXED_BFLOAT16]
    if gpu.compute_capability >= FIRST_WITH_TF32:
        return [FLOAT32, TF32, MIXED_FLOAT16]
    return [FLOAT32, MIXED_FLOAT16]


def arm_flags(arm: Arm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags of train for ``arm``; loss scaling is for mixed_float16 alone."""
    scaling = {name: given[name] for name in SCALING_FLAGS if name in given}
    return {
        "policy": arm.policy,
        "tf32": arm.tf32,
        **(scaling if arm is MIXED_FLOAT16 else {}),
    }


def unused_flags(arms: Sequence[Arm], given: Mapping[str, Any]) -> list[str]:
    """Return a warning for each flag of ``given`` that no one of ``arms`` uses."""
    if MIXED_FLOAT16 in arms:
        return []
    return [
        f"--{name} has no effect: on a CPU the mixed arm is mixed_bfloat16, which does not scale "
        f"the loss"
        for name in SCALING_FLAGS
        if name in given
    ]
