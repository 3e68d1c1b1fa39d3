"""``doctor`` on machines of every kind: NVML and cuInit by stand-ins, all else by its facts."""

from __future__ import annotations

import functools
import json
import os
import socket
import threading
import time

import pytest
from driver_stub import CARDS, build, run_doctor

from workbench.doctor import cards, cuda, cuda_libraries, deep, machine_checks
from workbench.doctor import machine as machine_facts
from workbench.doctor.cards import Card, Cards, Process
from workbench.doctor.cuda import CudaInit
from workbench.doctor.machine import Folder, Machine
from workbench.doctor.rules import MACHINE
from workbench.hardware import Cpu, Gpu
from workbench.policy import recommended_policy


@pytest.fixture(scope="session")
def stub(tmp_path_factory):
    """The folder with ``nvml/`` and ``cuda/``, one for each library."""
    return build(tmp_path_factory)


@pytest.fixture
def doctor(stub):
    """The command, with a driver that the variables STUB_… play."""
    return functools.partial(run_doctor, libraries=(stub / "nvml", stub / "cuda"))


GIB = 2**30
T4 = Gpu("Tesla T4", (7, 5), 15 * GIB)
P100 = Gpu("Tesla P100-PCIE-16GB", (6, 0), 16 * GIB)
A100 = Gpu("NVIDIA A100-SXM4-40GB", (8, 0), 40 * GIB)
FERMI = Gpu("GeForce GTX 580", (2, 0), 3 * GIB)
B200 = Gpu("NVIDIA B200", (10, 0), 180 * GIB)
AMX = {"avx", "avx2", "avx512f", "amx_tile", "amx_bf16"}
KEPT = Folder("/workspace", there=True, writable=True, kept=True, free=100 * GIB)
JIT_ON = {"CUDA_CACHE_MAXSIZE": "2147483648"}


def card(gpu, index=0, **changes):
    return Card(index, gpu, gpu.memory_bytes - GIB // 2, GIB // 2, ())._replace(**changes)


def machine(*all_cards, **changes):
    """A machine on which all is well, with these cards, but for ``changes``."""
    fine = Machine(
        cards=Cards(tuple(all_cards), "525.105.17", (12, 0)),
        cuda=CudaInit(0, library="/usr/lib/x86_64-linux-gnu/libcuda.so.525.105.17"),
        cpu=Cpu("a CPU", frozenset({"avx", "avx2"}), 8),
        environ=JIT_ON,
        base={"gpu": True, "kind": "official"},
        memory=64 * GIB,
        memory_left=60 * GIB,
        shared_memory=GIB,
        workspace=KEPT,
        jit_cache=KEPT._replace(path="/var/cache/cuda"),
        foreign_ports=(),
        device_files=("/dev/nvidia0", "/dev/nvidiactl"),
        host_driver=True,
        missing_libraries=(),
    )
    return fine._replace(**changes)


def without_gpu(**changes):
    absent = {"device_files": (), "host_driver": False, **changes}
    nothing = Cards(error=(12, "NVML Shared Library Not Found"))
    return machine(cards=nothing, cuda=CudaInit(None, "no libcuda", missing=True), **absent)


def nvml_error(code, words):
    return machine(cards=Cards(error=(code, words)))


def driver(version, gpu=T4):
    return machine(cards=Cards((card(gpu),), version, (11, 0)))


def cuda_says(status):
    return machine(card(T4), cuda=CudaInit(status))


WORKER = Process(77, "python", 2 * GIB)
# For each rule: a machine that shows it, and the evidence.
SHOWN = {
    "machine_base_without_gpu": (
        machine(card(T4), base={"gpu": False, "reason": "only libcudart is there"}),
        "Tesla T4; only libcudart is there",
    ),
    "machine_driver_not_loaded": (
        nvml_error(9, "Driver Not Loaded"),
        "NVML: Driver Not Loaded (9)",
    ),
    "machine_driver_mismatch": (
        nvml_error(18, "Driver/library version mismatch"),
        "NVML: Driver/library version mismatch (18)",
    ),
    "machine_nvml_failed": (nvml_error(17, "IRQ Issue"), "NVML: IRQ Issue (17)"),
    "machine_nvml_missing": (
        without_gpu(device_files=("/dev/nvidia0",)),
        "/dev/nvidia0; NVML Shared Library Not Found",
    ),
    "machine_card_unreadable": (
        machine(cards=Cards((card(T4),), "525.105.17", faults=("GPU 1: GPU is lost",))),
        "NVML: GPU 1: GPU is lost",
    ),
    "machine_driver_too_old": (driver("440.33.01"), "driver 440.33.01"),
    "machine_driver_without_jit": (
        driver("450.80.02", A100),
        "driver 450.80.02; NVIDIA A100-SXM4-40GB (compute capability 8.0)",
    ),
    "machine_driver_minor": (driver("450.80.02"), "driver 450.80.02"),
    "machine_gpu_too_old": (
        machine(card(FERMI)),
        "GPU 0: GeForce GTX 580 (compute capability 2.0)",
    ),
    "machine_gpu_too_new": (
        machine(card(B200)),
        "GPU 0: NVIDIA B200 (compute capability 10.0)",
    ),
    "machine_gpus_hidden": (
        machine(card(T4), environ={"CUDA_VISIBLE_DEVICES": "-1"}, cuda=CudaInit(100)),
        "CUDA_VISIBLE_DEVICES='-1', 1 here",
    ),
    "machine_libcuda_stub": (
        machine(card(T4), cuda=CudaInit(34, library="/usr/local/cuda/lib64/stubs/libcuda.so")),
        "cuInit gives 34, CUDA_ERROR_STUB_LIBRARY (/usr/local/cuda/lib64/stubs/libcuda.so)",
    ),
    "machine_libcuda_missing": (
        machine(card(T4), cuda=CudaInit(None, "libcuda.so.1: not there", missing=True)),
        "libcuda.so.1: not there",
    ),
    "machine_cuda_fails": (
        machine(card(T4), cuda=CudaInit(None, "cuInit has not returned in 15 s")),
        "cuInit has not returned in 15 s",
    ),
    "machine_compute_prohibited": (
        machine(card(T4, mode="prohibited")),
        "GPU 0: Tesla T4 (compute capability 7.5)",
    ),
    "machine_compute_exclusive": (
        machine(card(T4, mode="exclusive", processes=(WORKER,))),
        "GPU 0: Tesla T4 (compute capability 7.5); python (pid 77) 2.0 GiB",
    ),
    "machine_mig_empty": (
        machine(cards=Cards((), "525.105.17", mig_empty=("GPU 0: NVIDIA A100-SXM4-40GB",))),
        "GPU 0: NVIDIA A100-SXM4-40GB",
    ),
    "machine_gpu_memory_full": (
        machine(card(T4, memory_free=GIB // 2, memory_used=14 * GIB, processes=(WORKER,))),
        "GPU 0: 0.5 GiB of 15.0 GiB free; python (pid 77) 2.0 GiB",
    ),
    "machine_gpu_memory_shared": (
        machine(card(T4, memory_free=9 * GIB, memory_used=6 * GIB, processes=None)),
        "GPU 0: 9.0 GiB of 15.0 GiB free",
    ),
    "machine_jit_off": (
        machine(card(A100), jit_cache=KEPT._replace(path="/var/cache/cuda", kept=False)),
        "GPU 0: NVIDIA A100-SXM4-40GB (compute capability 8.0); /var/cache/cuda is no volume",
    ),
    "machine_jit": (
        machine(card(A100)),
        "GPU 0: NVIDIA A100-SXM4-40GB (compute capability 8.0)",
    ),
    "machine_gpus_differ": (
        machine(card(T4), card(P100, 1)),
        "Tesla T4, Tesla P100-PCIE-16GB",
    ),
    "machine_gpus_unused": (machine(card(T4), card(T4, 1)), "2 here: Tesla T4, Tesla T4"),
    "machine_gpu_not_given": (
        without_gpu(host_driver=True),
        "/proc/driver/nvidia/version is there",
    ),
    "machine_no_card": (machine(), "driver 525.105.17, 0 cards"),
    "machine_no_gpu": (without_gpu(), "no /dev/nvidia*; NVML Shared Library Not Found"),
    "machine_cpu_without_avx": (
        without_gpu(cpu=Cpu("QEMU Virtual CPU", frozenset({"sse2"}), 2)),
        "QEMU Virtual CPU",
    ),
    "machine_amx_unused": (
        without_gpu(
            cpu=Cpu("a Xeon", frozenset(AMX), 2), environ={"ONEDNN_MAX_CPU_ISA": "avx512_core"}
        ),
        "a Xeon; ONEDNN_MAX_CPU_ISA=AVX512_CORE",
    ),
    "machine_memory_small": (
        without_gpu(memory_left=GIB // 2),
        "0.5 GiB can be taken, of 64.0 GiB",
    ),
    "machine_memory_tight": (
        without_gpu(memory_left=2 * GIB),
        "2.0 GiB can be taken, of 64.0 GiB",
    ),
    "machine_shm_small": (
        machine(card(T4), card(T4, 1), shared_memory=2**26),
        "/dev/shm: 64 MiB",
    ),
    "machine_shm_default": (without_gpu(shared_memory=2**26), "/dev/shm: 64 MiB"),
    "machine_workspace_read_only": (
        without_gpu(workspace=KEPT._replace(writable=False)),
        "/workspace",
    ),
    "machine_workspace_lost": (without_gpu(workspace=KEPT._replace(kept=False)), "/workspace"),
    "machine_disk_full": (
        without_gpu(workspace=KEPT._replace(free=100 * 2**20)),
        "/workspace: 100 MiB free",
    ),
    "machine_disk_low": (
        without_gpu(workspace=KEPT._replace(free=GIB)),
        "/workspace: 1.0 GiB free",
    ),
    "machine_port_foreign": (without_gpu(foreign_ports=(8888,)), "127.0.0.1:8888"),
}
TRIAL = deep.Trial(
    ["Tesla T4"],
    [
        deep.Operation("GPU:0", "matmul", "float32", 0.1, 0.002, True),
        deep.Operation("GPU:0", "matmul", "float16", 0.1, 0.001, True),
    ],
)
SHOWN_BY_TRIAL = {
    "deep_failed": (TRIAL._replace(problem="GPU:0: no kernel"), "GPU:0: no kernel"),
    "deep_gpu_unused": (TRIAL._replace(gpus=[]), "NVML: Tesla T4; TensorFlow: none"),
    "deep_wrong_result": (
        TRIAL._replace(operations=[TRIAL.operations[0]._replace(right=False)]),
        "GPU:0: matmul in float32",
    ),
    "deep_low_precision_slow": (
        TRIAL._replace(
            operations=[TRIAL.operations[0], TRIAL.operations[1]._replace(warm_s=0.004)]
        ),
        "GPU:0: matmul float16 4.00 ms, float32 2.00 ms",
    ),
}


def test_every_rule_of_the_machine_has_its_symptom_here():
    assert {*SHOWN, *SHOWN_BY_TRIAL} == {rule.id for rule in MACHINE}


@pytest.mark.parametrize("rule", SHOWN)
def test_rule(rule):
    facts, evidence = SHOWN[rule]
    found = {each.id: each.evidence for each in machine_checks.findings(facts)}
    assert found[rule] == evidence


@pytest.mark.parametrize("rule", SHOWN_BY_TRIAL)
def test_rule_of_the_trial(rule):
    trial, evidence = SHOWN_BY_TRIAL[rule]
    assert [(each.id, each.evidence) for each in trial.findings(machine(card(T4)))] == [
        (rule, evidence)
    ]


def test_a_good_trial_finds_nothing():
    assert TRIAL.findings(machine(card(T4))) == []


@pytest.mark.parametrize("gpu", [T4, P100])
def test_a_machine_on_which_all_is_well_has_no_finding(gpu):
    assert machine_checks.findings(machine(card(gpu))) == []


@pytest.mark.parametrize(
    ("status", "rule"),
    [
        (46, "gpu_busy_exclusive"),
        (100, "no_cuda_device"),
        (101, "device_number_wrong"),
        (214, "gpu_memory_faulty"),
        (304, "cuda_unknown_error"),
        (802, "fabric_manager_missing"),
        (803, "libcuda_and_module_differ"),
        (804, "cuda_compat_on_path"),
        (999, "cuda_unknown_error"),
        (5, "machine_cuda_fails"),
    ],
)
def test_cuinit_that_fails_is_an_error_with_its_cause(status, rule):
    (found,) = machine_checks.findings(cuda_says(status))
    assert (found.id, found.level) == (rule, "error")


def test_nvml_that_lost_its_rights():
    (found,) = machine_checks.findings(nvml_error(999, "Unknown Error"))
    assert found.id == "nvml_lost_in_container"


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        (("libcudnn.so.8",), "cudnn_missing"),
        (("libcufft.so.10", "libcudnn.so.8"), "cuda_library_missing"),
    ],
)
def test_libraries_that_are_not_found(names, rule):
    (found,) = machine_checks.findings(machine(card(T4), missing_libraries=names))
    assert (found.id, found.evidence) == (rule, f"not found: {', '.join(names)}")


@pytest.mark.parametrize(
    ("visible", "hidden"),
    [
        (None, False),
        ("0", False),
        ("1,0", False),
        ("GPU-5f8a", False),
        ("MIG-5f8a", False),
        ("", True),
        ("-1", True),
        ("2", True),
        ("none", True),
    ],
)
def test_cuda_visible_devices(visible, hidden):
    assert bool(machine_checks.hidden_by(visible, 2)) is hidden


@pytest.mark.parametrize(
    ("environ", "level"),
    [
        ({"CUDA_CACHE_MAXSIZE": "2147483648"}, "info"),
        ({"CUDA_CACHE_MAXSIZE": "2147483648", "CUDA_CACHE_DISABLE": "1"}, "warning"),
        ({"CUDA_CACHE_MAXSIZE": "268435456"}, "warning"),
        ({"CUDA_CACHE_MAXSIZE": "2G"}, "warning"),
        ({}, "warning"),
    ],
)
def test_the_jit_cache(environ, level):
    (found,) = machine_checks.findings(machine(card(A100), environ=environ))
    assert (found.id[:11], found.level) == ("machine_jit", level)


@pytest.mark.parametrize(
    ("text", "numbers"), [("460.27.03", (460, 27, 3)), ("450.80", (450, 80)), ("?", None)]
)
def test_driver_version(text, numbers):
    assert machine_checks.driver_version(text) == numbers


@pytest.mark.parametrize("name", CARDS)
def test_policy_of_each_card(doctor, name):
    described, policy, tensor_cores = CARDS[name]
    result = doctor("--json", STUB_GPUS=described)
    said = json.loads(result.stdout)
    (gpu,) = said["gpus"]
    model, capability, total, used = described.split(",")
    assert said["recommended_policy"] == policy
    assert model in said["reason"]
    assert (gpu["name"], gpu["compute_capability"]) == (model, capability)
    assert gpu["tensor_cores"] is tensor_cores
    assert (gpu["memory"], gpu["memory_used"]) == (int(total) * 2**20, int(used) * 2**20)
    assert said["cuda_init"] == {"status": 0, "words": "ready"}
    types = ["float16", "bfloat16", "tf32"] if capability >= "8" else ["float16"]
    assert gpu["tensor_core_types"] == (types if tensor_cores else [])


@pytest.mark.parametrize(
    ("variables", "rule"),
    [
        ({"STUB_INIT": "9"}, "machine_driver_not_loaded"),
        ({"STUB_INIT": "18"}, "machine_driver_mismatch"),
        ({"STUB_INIT": "999"}, "nvml_lost_in_container"),
        ({"STUB_GPUS": "Tesla T4,7.5,15109,0", "STUB_DRIVER": "418.87"}, "machine_driver_too_old"),
        (
            {"STUB_GPUS": "Tesla T4,7.5,15109,0", "STUB_FAIL": "nvmlDeviceGetName@0=15"},
            "machine_card_unreadable",
        ),
        (
            {
                "STUB_GPUS": "NVIDIA A100-SXM4-40GB,8.0,40536,0",
                "STUB_MIG": "0",
                "STUB_MIG_DEVICES": "0",
            },
            "machine_mig_empty",
        ),
    ],
)
def test_what_is_wrong_ends_with_1(doctor, variables, rule):
    result = doctor("--json", **variables)
    assert rule in [each["id"] for each in json.loads(result.stdout)["findings"]]
    assert result.returncode == 1


def test_one_of_two_cards_is_lost(doctor):
    result = doctor(
        "--json",
        STUB_GPUS="Tesla T4,7.5,15109,0;Tesla V100-SXM2-16GB,7.0,16160,0",
        STUB_FAIL="nvmlDeviceGetCudaComputeCapability@1=15",
    )
    said = json.loads(result.stdout)
    assert [gpu["name"] for gpu in said["gpus"]] == ["Tesla T4"]
    assert "NVML: GPU 1: GPU is lost" in [each["evidence"] for each in said["findings"]]
    assert result.returncode == 1


def test_the_weaker_of_two_cards_decides(doctor):
    result = doctor(
        "--json",
        STUB_GPUS="Tesla T4,7.5,15109,0;Tesla P100-PCIE-16GB,6.0,16280,0",
    )
    said = json.loads(result.stdout)
    assert said["recommended_policy"] == "float32"
    assert "Tesla P100-PCIE-16GB" in said["reason"]


def test_mig_instances_stand_for_their_card(doctor):
    result = doctor(
        "--json",
        STUB_GPUS="NVIDIA A100-SXM4-40GB,8.0,40536,0",
        STUB_MIG="0",
        STUB_MIG_DEVICES="2",
    )
    said = json.loads(result.stdout)
    assert [gpu["name"] for gpu in said["gpus"]] == ["NVIDIA A100-SXM4-40GB MIG 1g.5gb"] * 2
    assert said["gpus"][0]["memory"] == 40536 // 8 * 2**20
    assert said["recommended_policy"] == "mixed_float16"


@pytest.mark.parametrize("lacks", ["", "nvmlDeviceGetComputeRunningProcesses_v3"])
def test_who_uses_a_card(doctor, lacks):
    result = doctor(
        STUB_GPUS="Tesla T4,7.5,15360,6400",
        STUB_PROCESSES="0:77:6144:/usr/bin/python3;0:78:128:Xorg",
        STUB_LACKS=lacks,
    )
    assert (
        "GPU 0 is used by /usr/bin/python3 (pid 77) 6.0 GiB, Xorg (pid 78) 0.1 GiB"
        in result.stdout.splitlines()
    )


def test_a_driver_that_knows_only_the_first_calls(doctor):
    result = doctor(
        "--json",
        STUB_GPUS="Tesla T4,7.5,15109,0",
        STUB_LACKS="nvmlDeviceGetComputeRunningProcesses_v3;nvmlDeviceGetComputeRunningProcesses_v2"
        ";nvmlDeviceGetMigMode;nvmlDeviceGetComputeMode;nvmlDeviceGetMemoryInfo",
    )
    (gpu,) = json.loads(result.stdout)["gpus"]
    assert (gpu["name"], gpu["memory"], gpu["memory_free"]) == ("Tesla T4", None, None)
    assert gpu["processes"] is None


@pytest.mark.parametrize(
    ("said", "status", "problem"),
    [
        ("0", 0, None),
        ("34", 34, None),
        ("999", 999, None),
        ("crash", None, "cuInit ended its process with status -11"),
        ("hang", None, "cuInit has not returned in 0.5 s"),
    ],
)
def test_cuinit(stub, monkeypatch, said, status, problem):
    monkeypatch.setenv("LD_LIBRARY_PATH", str(stub / "cuda"))
    monkeypatch.setenv("STUB_CUINIT", said)
    result = cuda.init(time_limit_s=0.5 if said == "hang" else 15)
    assert (result.status, result.problem) == (status, problem)


def test_no_driver_at_all_is_no_fault():
    result = run_doctor("--json", CUDA_VISIBLE_DEVICES="")
    said = json.loads(result.stdout)
    assert said["gpus"] == []
    assert "machine_no_gpu" in [each["id"] for each in said["findings"]]
    assert result.returncode == 0
    assert cards.look().error[0] == 12


def test_policy_is_that_of_the_trainer():
    facts = without_gpu(cpu=Cpu("a Xeon", frozenset(AMX), 2), environ={})
    choice = recommended_policy(facts.cards.gpus, facts.cpu, facts.environ)
    assert choice.policy == "mixed_bfloat16"
    assert machine_checks.findings(facts)[0].id == "machine_no_gpu"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    found = machine_facts.folder(str(tmp_path / "closed" / "cache"))
    assert (found.there, found.writable) == (False, False)
    result = run_doctor("--json", CUDA_CACHE_PATH=str(tmp_path / "closed" / "cache"))
    assert (result.returncode, result.stderr) == (0, "")


def test_a_folder_that_is_not_there_is_told_by_the_one_above(tmp_path):
    found = machine_facts.folder(str(tmp_path / "new" / "cache"))
    assert (found.there, found.writable) == (False, True)
    assert found.free == machine_facts.folder(str(tmp_path)).free


def test_a_working_directory_that_was_removed(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    result = run_doctor("--json", cwd=gone, before=gone.rmdir)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("greetings", "answer", "foreign"),
    [
        ((b"HTTP/",), b"HTTP/1.1 302 Found\r\n", False),
        ((b"HTTP/", b"\x15\x03"), b"\x15\x03\x01\x00\x02\x02\x50", False),
        ((b"SSH-",), b"SSH-2.0-OpenSSH_9.2\r\n", False),
        ((b"SSH-",), b"220 mail\r\n", True),
        ((b"HTTP/",), b"-ERR unknown command\r\n", True),
        ((b"HTTP/",), b"", False),
    ],
)
def test_who_listens_on_a_port(greetings, answer, foreign):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                connection.recv(64)

        thread = threading.Thread(target=serve)
        thread.start()
        assert machine_facts.is_foreign(server.getsockname()[1], greetings) is foreign
        thread.join()


def test_nobody_listens_on_a_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert machine_facts.is_foreign(port, (b"HTTP/",)) is False


def test_libraries_are_found_by_the_path_and_missed_without(tmp_path):
    for name in cuda_libraries.NEEDED:
        (tmp_path / name).touch()
    assert cuda_libraries.missing({"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"}) == ()
    (tmp_path / "libcudnn.so.8").unlink()
    assert cuda_libraries.missing({"LD_LIBRARY_PATH": str(tmp_path)}) == ("libcudnn.so.8",)


def test_tensorflow_is_not_loaded():
    result = run_doctor("--json", PYTHONPROFILEIMPORTTIME="1")
    modules = [line.rpartition("|")[2].strip() for line in result.stderr.splitlines()]
    assert "pynvml" in modules
    assert not [name for name in modules if name.split(".")[0] in ("tensorflow", "numpy")]


def test_the_trial_by_tensorflow():
    result = run_doctor("--deep", "--json", ONEDNN_MAX_CPU_ISA="")
    said = json.loads(result.stdout)
    operations = said["trial"]["operations"]
    assert [(each["device"], each["operation"]) for each in operations[:2]] == [
        ("CPU:0", "matmul"),
        ("CPU:0", "conv2d"),
    ]
    assert all(each["right"] and 0 < each["warm_s"] < 60 for each in operations)
    assert said["trial"]["problem"] is None
    assert result.returncode == 0


def test_the_trial_takes_nothing_from_the_working_directory(tmp_path):
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('not this one')")
    result = run_doctor("--deep", "--json", cwd=tmp_path)
    assert json.loads(result.stdout)["trial"]["problem"] is None


def test_a_trial_that_hangs_is_ended():
    started = time.monotonic()
    result = deep.trial("float32", time_limit_s=0.05)
    assert result.problem == "TensorFlow has not answered in 0.05 s"
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--run=/nowhere"], "--run=/nowhere cannot be read (No such file or directory)"),
        (["--log=/nowhere"], "--log=/nowhere"),
        (["--run=x", "--log=y"], "--run and --log exclude each other"),
        (["--deep", "--run=x"], "--run and --deep exclude each other"),
        (["--jsn"], "unknown flag --jsn (did you mean --json?)"),
        (["--json=perhaps"], "--json=perhaps: give true or false"),
        (["gpu"], "unexpected argument 'gpu'"),
    ],
)
def test_mistakes(arguments, words):
    result = run_doctor(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert words in line
