"""Which policy is chosen for which hardware, and what is refused or warned about."""

from __future__ import annotations

import pytest

from workbench.errors import Mistake
from workbench.hardware import Cpu, Gpu, nvml_report, parse_cpuinfo
from workbench.policy import recommended_policy, resolve

PLAIN = Cpu("plain", frozenset({"avx2", "avx512f", "avx512_vnni", "avx512_bf16"}), 2)
AMX = Cpu("amx", PLAIN.features | {"amx_tile", "amx_bf16", "amx_int8"}, 2)

V100 = Gpu("Tesla V100-SXM2-16GB", (7, 0))
T4 = Gpu("Tesla T4", (7, 5))
P100 = Gpu("Tesla P100-PCIE-16GB", (6, 0))
A100 = Gpu("NVIDIA A100-SXM4-40GB", (8, 0))
GTX_1660_TI = Gpu("NVIDIA GeForce GTX 1660 Ti", (7, 5))


@pytest.mark.parametrize(
    ("gpus", "policy"),
    [
        ([V100], "mixed_float16"),
        ([Gpu("NVIDIA TITAN V", (7, 0))], "mixed_float16"),
        ([Gpu("Xavier", (7, 2))], "mixed_float16"),
        ([T4], "mixed_float16"),
        ([Gpu("NVIDIA GeForce RTX 2060", (7, 5))], "mixed_float16"),
        ([Gpu("Quadro RTX 4000", (7, 5))], "mixed_float16"),
        ([Gpu("NVIDIA TITAN RTX", (7, 5))], "mixed_float16"),
        ([A100], "mixed_float16"),
        ([Gpu("NVIDIA A100-SXM4-40GB MIG 1g.5gb", (8, 0))], "mixed_float16"),
        ([Gpu("NVIDIA GeForce RTX 4090", (8, 9))], "mixed_float16"),
        ([Gpu("NVIDIA RTX A2000", (8, 6))], "mixed_float16"),
        ([Gpu("NVIDIA H100 80GB HBM3", (9, 0))], "mixed_float16"),
        ([P100], "float32"),
        ([Gpu("Tesla K80", (3, 7))], "float32"),
        ([Gpu("NVIDIA GeForce GTX 1080 Ti", (6, 1))], "float32"),
        ([GTX_1660_TI], "float32"),
        ([Gpu("GeForce GTX 1650", (7, 5))], "float32"),
        ([Gpu("NVIDIA GeForce GTX 1630", (7, 5))], "float32"),
        ([Gpu("NVIDIA GeForce GTX 1650 with Max-Q Design", (7, 5))], "float32"),
        ([Gpu("NVIDIA GeForce MX450", (7, 5))], "float32"),
        ([Gpu("NVIDIA GeForce MX550", (7, 5))], "float32"),
        ([Gpu("NVIDIA T500", (7, 5))], "float32"),
        ([Gpu("NVIDIA T1000 8GB", (7, 5))], "float32"),
        ([Gpu("NVIDIA T600 Laptop GPU", (7, 5))], "float32"),
        ([Gpu("Quadro T2000 with Max-Q Design", (7, 5))], "float32"),
        ([V100, A100], "mixed_float16"),
        ([A100, P100], "float32"),
        ([P100, A100], "float32"),
        ([T4, GTX_1660_TI], "float32"),
    ],
)
def test_gpu(gpus, policy):
    # A GPU decides, whatever the CPU has.
    choice = recommended_policy(gpus, AMX, {})
    assert choice.policy == policy
    assert any(gpu.name in choice.reason for gpu in gpus)


def test_the_weakest_gpu_is_named():
    assert "P100" in recommended_policy([A100, P100], PLAIN, {}).reason


@pytest.mark.parametrize(
    ("cpu", "environ", "policy"),
    [
        (AMX, {}, "mixed_bfloat16"),
        (AMX, {"TF_ENABLE_ONEDNN_OPTS": "1"}, "mixed_bfloat16"),
        (AMX, {"TF_ENABLE_ONEDNN_OPTS": "0"}, "float32"),
        (AMX, {"TF_ENABLE_ONEDNN_OPTS": "False"}, "float32"),
        (AMX, {"TF_ENABLE_ONEDNN_OPTS": "maybe"}, "mixed_bfloat16"),
        (AMX, {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}, "float32"),
        (AMX, {"ONEDNN_MAX_CPU_ISA": "avx2"}, "float32"),
        (AMX, {"DNNL_MAX_CPU_ISA": "AVX512_CORE"}, "float32"),
        (AMX, {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_AMX"}, "mixed_bfloat16"),
        (AMX, {"ONEDNN_MAX_CPU_ISA": "ALL"}, "mixed_bfloat16"),
        (PLAIN, {}, "float32"),
        (PLAIN, {"TF_ENABLE_ONEDNN_OPTS": "1"}, "float32"),
        (Cpu("int8 only", frozenset({"amx_tile", "amx_int8"}), 2), {}, "float32"),
        (Cpu("arm", frozenset({"asimd", "bf16"}), 2), {}, "float32"),
    ],
)
def test_cpu(cpu, environ, policy):
    choice = recommended_policy([], cpu, environ)
    assert choice.policy == policy
    assert "no GPU" in choice.reason


def test_auto_is_the_recommended_policy():
    assert resolve("auto", [T4], PLAIN, {}) == (recommended_policy([T4], PLAIN, {}), [])


def test_mixed_bfloat16_on_a_gpu_is_refused():
    with pytest.raises(Mistake, match=r"no bfloat16 kernels.*A100.*mixed_float16"):
        resolve("mixed_bfloat16", [A100], AMX, {})


@pytest.mark.parametrize(
    ("policy", "gpus", "warning"),
    [
        ("float32", [], None),
        ("float32", [A100], None),
        ("mixed_bfloat16", [], None),
        ("mixed_float16", [A100], None),
        ("mixed_float16", [], "hundred times slower"),
        ("mixed_float16", [P100, P100], "no float16 Tensor Cores"),
    ],
)
def test_explicit_policy(policy, gpus, warning):
    choice, warnings = resolve(policy, gpus, PLAIN, {})
    assert choice.policy == policy
    assert len(warnings) == (warning is not None)
    assert all(warning in text for text in warnings)


def test_cpuinfo():
    text = (
        "processor : 0\nmodel name\t: A CPU\nflags\t\t: avx2 amx_bf16\n\nprocessor : 1\nflags : x\n"
    )
    assert parse_cpuinfo(text) == ("A CPU", frozenset({"avx2", "amx_bf16"}))
    assert parse_cpuinfo("processor : 0\nFeatures : asimd bf16\n")[1] == {"asimd", "bf16"}


def test_without_a_driver_nvml_says_so(monkeypatch):
    import pynvml

    def no_library():
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", no_library)
    report = nvml_report()
    assert report.gpus == []
    assert report.driver is None
    assert "Library Not Found" in report.error
