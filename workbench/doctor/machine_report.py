"""``doctor`` without flags: what the machine has, the policy that fits it, and what is wrong."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from workbench import policy
from workbench.doctor import deep, machine, machine_checks
from workbench.doctor.cards import Card
from workbench.doctor.findings import LEVELS, Finding
from workbench.doctor.machine import Machine
from workbench.hardware import NOTED_CPU_FEATURES, Gpu


class MachineReport(NamedTuple):
    """The facts, the recommended policy, the findings, and the trial by TensorFlow or None."""

    machine: Machine
    choice: policy.Choice
    findings: list[Finding]
    trial: deep.Trial | None

    @property
    def lines(self) -> list[str]:
        """The summary for a person, line by line."""
        facts = self.machine
        lines = [line for card in facts.cards.cards for line in _card_lines(card)]
        lines = lines or ["GPU: none"]
        if facts.cards.driver:
            cuda = facts.cards.driver_cuda
            newest = f", up to CUDA {cuda[0]}.{cuda[1]}" if cuda else ""
            lines.append(f"driver: {facts.cards.driver}{newest}; CUDA: {facts.cuda.words}")
        if facts.base:
            use = "can use a GPU" if facts.base.get("gpu") else "cannot use a GPU"
            lines.append(f"base: {facts.base.get('kind')}, {use}")
        lines += [
            _cpu_line(facts),
            f"memory: {_gib(facts.memory_left)} can be taken, of {_gib(facts.memory)}; "
            f"/dev/shm: {_gib(facts.shared_memory)}",
            f"work folder: {facts.workspace.path}, {_gib(facts.workspace.free)} free",
            f"recommended policy: {self.choice.policy} ({self.choice.reason})",
        ]
        if self.trial:
            lines += self.trial.lines
        return lines

    def as_json(self) -> dict[str, Any]:
        """The report for a machine: sizes in bytes, times in seconds, null where not known."""
        facts = self.machine
        cuda = facts.cards.driver_cuda
        return {
            "gpus": [_card_json(card) for card in facts.cards.cards],
            "recommended_policy": self.choice.policy,
            "reason": self.choice.reason,
            "driver": facts.cards.driver,
            "driver_cuda": f"{cuda[0]}.{cuda[1]}" if cuda else None,
            "cuda_init": {"status": facts.cuda.status, "words": facts.cuda.words},
            "base": facts.base or None,
            "cpu": {
                "name": facts.cpu.name,
                "cores": facts.cpu.cores,
                "features": [name for name in NOTED_CPU_FEATURES if name in facts.cpu.features],
                "onednn": policy.onednn_enabled(facts.environ),
            },
            "memory": facts.memory,
            "memory_available": facts.memory_left,
            "shared_memory": facts.shared_memory,
            "workspace": facts.workspace._asdict(),
            "jit_cache": facts.jit_cache._asdict(),
            "trial": self.trial.as_json() if self.trial else None,
            "findings": [finding._asdict() for finding in self.findings],
        }


def look(environ: Mapping[str, str], with_trial: bool) -> MachineReport:
    """Look at this machine; ``with_trial`` has TensorFlow compute on it too, in a child process."""
    facts = machine.look(environ)
    findings = machine_checks.findings(facts)
    choice = policy.recommended_policy(facts.cards.gpus, facts.cpu, environ)
    trial = deep.trial(choice.policy) if with_trial else None
    if trial:
        findings += trial.findings(facts)
        findings.sort(key=lambda finding: LEVELS.index(finding.level))
    return MachineReport(facts, choice, findings, trial)


def tensor_core_types(gpu: Gpu) -> list[str]:
    """Return the types that the Tensor Cores of ``gpu`` multiply, as far as TensorFlow has any.

    float16 from Volta on; bfloat16 and TF32 from Ampere, compute capability 8.0, on (NVIDIA,
    CUDA C++ Programming Guide, Compute Capabilities).
    """
    if not policy.has_tensor_cores(gpu):
        return []
    return ["float16", "bfloat16", "tf32"] if gpu.compute_capability >= (8, 0) else ["float16"]


def _card_lines(card: Card) -> list[str]:
    types = tensor_core_types(card.gpu)
    cores = f"Tensor Cores for {', '.join(types)}" if types else "no Tensor Cores"
    memory = f"{_gib(card.gpu.memory_bytes)}, {_gib(card.memory_free)} free"
    lines = [f"GPU {card.index}: {policy.describe(card.gpu)}, {cores}; {memory}"]
    if card.processes:
        lines.append(f"GPU {card.index} is used by {machine_checks.users(card)}")
    return lines


def _card_json(card: Card) -> dict[str, Any]:
    major, minor = card.gpu.compute_capability
    types = tensor_core_types(card.gpu)
    known = card.processes is not None
    return {
        "index": card.index,
        "name": card.gpu.name,
        "compute_capability": f"{major}.{minor}",
        "tensor_cores": bool(types),
        "tensor_core_types": types,
        "memory": card.gpu.memory_bytes,
        "memory_free": card.memory_free,
        "memory_used": card.memory_used,
        "processes": [each._asdict() for each in card.processes] if known else None,
        "compute_mode": card.mode,
    }


def _cpu_line(facts: Machine) -> str:
    names = [name for name in NOTED_CPU_FEATURES if name in facts.cpu.features]
    onednn = "on" if policy.onednn_enabled(facts.environ) else "off"
    return (
        f"CPU: {facts.cpu.name}, {facts.cpu.cores} cores; {', '.join(names) or 'no AVX2'}; "
        f"oneDNN {onednn}"
    )


def _gib(size: int | None) -> str:
    return "unknown" if size is None else machine_checks.gib(size)
