"""All that the doctor knows: symptom, cause, remedy, source. How it is seen is elsewhere.

``machine_checks.py`` sees the machine's, ``run_checks.py`` a training's; a log is searched for the
patterns that stand here, in this order: the root of a fault before what follows from it.
"""

from __future__ import annotations

import re

from workbench.doctor.findings import Finding, Rule
from workbench.verdicts import NEED_OTHER_FLAGS, VERDICTS

# --- The machine -------------------------------------------------------------------------------
MACHINE: tuple[Rule, ...] = (
    Rule(
        "machine_base_without_gpu",
        "error",
        "This image cannot use the GPU",
        "It was built on the small base, which has no CUDA libraries but libcudart.",
        "Build it on the official base, or on the whole compatible one: docker/base/README.md; "
        "scripts/up says how.",
        "docker/base/README.md",
    ),
    Rule(
        "machine_driver_not_loaded",
        "error",
        "NVML is there, but the driver is not loaded",
        "The library of NVIDIA's driver is installed, and its kernel module does not run: no card, "
        "a module that was not built for this kernel, Secure Boot, or nouveau in its place.",
        "On the host: `sudo modprobe nvidia && nvidia-smi`; `dmesg | grep -i nvrm` names the "
        "reason.",
        "NVIDIA, NVML API Reference, nvmlReturn_t",
    ),
    Rule(
        "machine_driver_mismatch",
        "error",
        "Driver/library version mismatch",
        "The driver was updated on the host, and the old kernel module still runs.",
        "Reboot the host (or unload and load the module while nothing uses it), then start the "
        "container anew.",
        "NVIDIA/nvidia-container-toolkit#394",
    ),
    Rule(
        "machine_nvml_failed",
        "error",
        "NVML does not work",
        "The driver answers with an error of its own.",
        "Run `nvidia-smi` on the host: where it fails too, reboot or reinstall the driver; else "
        "start the container anew.",
        "NVIDIA, NVML API Reference, nvmlReturn_t",
    ),
    Rule(
        "machine_nvml_missing",
        "error",
        "There are NVIDIA devices, but no NVML",
        "The devices were given to the container without the driver's library: by --device alone, "
        "or with NVIDIA_DRIVER_CAPABILITIES that lacks utility.",
        "docker run --gpus all …, with NVIDIA_DRIVER_CAPABILITIES=compute,utility (the image's "
        "default).",
        "NVIDIA Container Toolkit, Specialized Configurations with Docker",
    ),
    Rule(
        "machine_card_unreadable",
        "error",
        "A GPU does not answer",
        "NVML lists it and fails when it is asked: the card fell off the bus, or is in an error "
        "state.",
        "`dmesg | grep -i xid` on the host; power the machine off and on. CUDA_VISIBLE_DEVICES "
        "can name the others meanwhile.",
        "NVIDIA, XID Errors",
    ),
    Rule(
        "machine_driver_too_old",
        "error",
        "The driver is too old for CUDA 11.2",
        "CUDA 11.2 needs the driver 460.27.03, or 450.80.02 by minor-version compatibility; "
        "below that TensorFlow cannot use the GPU.",
        "Update the driver on the host; the CUDA toolkit there does not matter.",
        "NVIDIA, CUDA 11.2 Release Notes, CUDA Toolkit and Compatible Driver Versions",
    ),
    Rule(
        "machine_driver_without_jit",
        "error",
        "The driver is too old to compile for this GPU",
        "TensorFlow 2.9 has no machine code for compute capability 8.0 and later, only PTX of "
        "CUDA 11.2, which a driver before 460.27.03 cannot compile: minor-version compatibility "
        "leaves PTX out.",
        "Update the driver on the host to 460.27.03 or later.",
        "NVIDIA, CUDA Compatibility, Minor Version Compatibility, Limitations",
    ),
    Rule(
        "machine_driver_minor",
        "warning",
        "The driver is older than CUDA 11.2",
        "It works by minor-version compatibility (450.80.02 and later), without what the newer "
        "driver brings: PTX cannot be compiled.",
        "Update the driver to 460.27.03 or later when there is time.",
        "NVIDIA, CUDA Compatibility, Minor Version Compatibility",
    ),
    Rule(
        "machine_gpu_too_old",
        "error",
        "TensorFlow 2.9 ignores this GPU",
        "Its compute capability is below 3.5, the lowest that TensorFlow 2.9 has code for.",
        "Use another card; on the CPU all of it runs.",
        "TensorFlow, GPU guide, Hardware requirements",
    ),
    Rule(
        "machine_gpu_too_new",
        "warning",
        "The GPU is far newer than CUDA 11.2",
        "TensorFlow's own kernels are compiled from PTX at the first start; CUDA 11.2's libraries "
        "and cuDNN 8.1 have no code for compute capability 10.0 and later.",
        "Try `doctor --deep`; where it fails, this card needs a newer TensorFlow.",
        "NVIDIA, CUDA 11.2 Release Notes",
    ),
    Rule(
        "machine_gpus_hidden",
        "error",
        "CUDA_VISIBLE_DEVICES hides the GPU",
        "With an empty value, -1, or a number that does not exist CUDA shows no card, or none "
        "from that number on.",
        "`unset CUDA_VISIBLE_DEVICES`, or name cards from 0.",
        "CUDA C++ Programming Guide, CUDA Environment Variables",
    ),
    Rule(
        "machine_libcuda_stub",
        "error",
        "The CUDA driver is only a stub",
        "libcuda.so.1 is the toolkit's stub, for linking: the real one was not mounted into the "
        "container, since NVIDIA_DRIVER_CAPABILITIES lacks compute.",
        "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …",
        "NVIDIA Container Toolkit, Specialized Configurations with Docker",
    ),
    Rule(
        "machine_libcuda_missing",
        "error",
        "NVML sees a GPU, but the CUDA driver is not there",
        "libcuda.so.1 was not mounted into the container, or is not where the loader looks.",
        "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …; `ldconfig` as "
        "root where the file is there.",
        "NVIDIA Container Toolkit, Specialized Configurations with Docker",
    ),
    Rule(
        "machine_cuda_fails",
        "error",
        "NVML sees a GPU, but CUDA cannot use it",
        "cuInit, the first call of every CUDA program, fails.",
        "Run `nvidia-smi` in the container; end what holds the card; restart the container, then "
        "the host.",
        "CUDA Driver API, CUresult",
    ),
    Rule(
        "machine_compute_prohibited",
        "error",
        "The GPU is closed to CUDA",
        "Its compute mode is prohibited.",
        "On the host: `sudo nvidia-smi -i INDEX -c DEFAULT`.",
        "NVIDIA System Management Interface, Compute Mode",
    ),
    Rule(
        "machine_compute_exclusive",
        "error",
        "The GPU is held by another process",
        "Its compute mode is exclusive, and a process has it.",
        "End that process, or on the host: `sudo nvidia-smi -i INDEX -c DEFAULT`.",
        "NVIDIA System Management Interface, Compute Mode",
    ),
    Rule(
        "machine_mig_empty",
        "error",
        "The GPU is in MIG mode and has no instance",
        "In MIG mode CUDA sees instances only, and none has been made or given to the container.",
        "On the host: `sudo nvidia-smi mig -cgi 9 -C` makes one (`-lgip` lists the sizes), or "
        "`sudo nvidia-smi -mig 0`; then `docker run --gpus '\"device=0:0\"' …`.",
        "NVIDIA Multi-Instance GPU User Guide",
    ),
    Rule(
        "machine_gpu_memory_full",
        "error",
        "The GPU's memory is full",
        "Other processes hold it; less than 1 GiB is left, which CUDA with cuDNN may need alone.",
        "End them (`nvidia-smi` on the host lists them), or choose another card by "
        "CUDA_VISIBLE_DEVICES.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
    ),
    Rule(
        "machine_gpu_memory_shared",
        "warning",
        "Others hold much of the GPU's memory",
        "More than a quarter of it is taken. TensorFlow takes all it can by default; this image "
        "sets TF_FORCE_GPU_ALLOW_GROWTH.",
        "End them where they are forgotten notebooks, or use a smaller --batch_size.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
    ),
    Rule(
        "machine_jit_off",
        "warning",
        "The compiled code of this GPU is not kept",
        "TensorFlow 2.9 has only PTX for it, which the driver compiles: minutes to half an hour, "
        "at each start where its cache is off, smaller than 1 GiB, or lost with the container.",
        "CUDA_CACHE_MAXSIZE=2147483648 (the image's default), CUDA_CACHE_DISABLE unset, and a "
        "volume: -v tf29-cuda-cache:/var/cache/cuda (compose.yaml has it).",
        "tensorflow/tensorflow#60739",
    ),
    Rule(
        "machine_jit",
        "info",
        "The first start on this GPU takes minutes",
        "TensorFlow 2.9 has PTX for it only, no machine code; the driver compiles it once and "
        "keeps the result.",
        "Nothing: wait, the next start is fast.",
        "tensorflow/tensorflow#62320",
    ),
    Rule(
        "machine_gpus_differ",
        "info",
        "The GPUs are of different kinds",
        "The weakest of them decides on the recommended policy.",
        "CUDA_VISIBLE_DEVICES=0 (or another number) keeps to one of them.",
        "CUDA C++ Programming Guide, CUDA Environment Variables",
    ),
    Rule(
        "machine_gpus_unused",
        "info",
        "The trainer uses one GPU",
        "There are several, or several MIG instances; CUDA shows a process one instance only.",
        "Start one training for each: CUDA_VISIBLE_DEVICES=0, =1, …",
        "docs/training.md",
    ),
    Rule(
        "machine_gpu_not_given",
        "warning",
        "The host has NVIDIA's driver, but this container was given no GPU",
        "It was started without --gpus, or with NVIDIA_VISIBLE_DEVICES=void or none.",
        "docker run --gpus all …, or `docker compose -f compose.yaml -f compose.gpu.yaml up -d`.",
        "Docker documentation, docker container run, --gpus",
    ),
    Rule(
        "machine_no_card",
        "warning",
        "The driver works and shows no GPU",
        "NVIDIA_VISIBLE_DEVICES gives this container none, the card is switched off (laptops), or "
        "the driver does not support it.",
        "Compare `nvidia-smi -L` on the host; docker run --gpus all; `prime-select nvidia` on a "
        "laptop.",
        "NVIDIA Container Toolkit, Specialized Configurations with Docker",
    ),
    Rule(
        "machine_no_gpu",
        "info",
        "There is no NVIDIA GPU here",
        "No driver and no card are seen: all work runs on the CPU.",
        "Nothing, where the CPU is meant. For a GPU: its driver and the NVIDIA Container Toolkit "
        "on the host, then docker run --gpus all.",
        "NVIDIA Container Toolkit, Installation Guide",
    ),
    Rule(
        "machine_cpu_without_avx",
        "error",
        "TensorFlow will crash here: illegal instruction",
        "This CPU, or the virtual machine around it, has no AVX, which TensorFlow's wheels need.",
        "In a virtual machine choose the host's CPU type (QEMU: -cpu host); else another machine.",
        "tensorflow/tensorflow#17411",
    ),
    Rule(
        "machine_amx_unused",
        "warning",
        "The CPU has AMX, and it is switched off",
        "TF_ENABLE_ONEDNN_OPTS=0 or ONEDNN_MAX_CPU_ISA keeps oneDNN from using it: bfloat16 then "
        "is slower than float32.",
        "Unset TF_ENABLE_ONEDNN_OPTS and ONEDNN_MAX_CPU_ISA (DNNL_MAX_CPU_ISA).",
        "oneDNN, CPU Dispatcher Control",
    ),
    Rule(
        "machine_memory_small",
        "error",
        "There is too little memory",
        "Less than 1 GiB can be taken; a training of the mlp on MNIST takes 0.5 GB.",
        "End other programs, or raise the container's limit (docker run --memory, deploy.resources "
        "in compose).",
        "docs/performance.md",
    ),
    Rule(
        "machine_memory_tight",
        "warning",
        "Memory is tight",
        "Less than 4 GiB can be taken: enough for MNIST, little for images in a folder.",
        "Raise the container's limit (docker run --memory), or use a smaller --batch_size.",
        "docs/performance.md",
    ),
    Rule(
        "machine_shm_small",
        "warning",
        "/dev/shm is too small for several GPUs",
        "NCCL and worker processes pass data through it; Docker's default of 64 MB ends in bus "
        "errors and hangs.",
        "docker run --shm-size=1g (compose.yaml has it), or --ipc=host.",
        "NVIDIA/nccl#342",
    ),
    Rule(
        "machine_shm_default",
        "info",
        "/dev/shm has Docker's 64 MB",
        "Enough for one training; worker processes with large batches need more.",
        "docker run --shm-size=1g (compose.yaml has it).",
        "NVIDIA/nccl#342",
    ),
    Rule(
        "machine_workspace_read_only",
        "error",
        "The work folder cannot be written",
        "It belongs to another user, or is mounted read-only: a training could not keep anything.",
        "For a bind mount: docker run -e PUID=$(id -u) -e PGID=$(id -g) …, or chown the folder on "
        "the host; without :ro.",
        "README.md",
    ),
    Rule(
        "machine_workspace_lost",
        "info",
        "The work folder ends with this container",
        "/workspace is no volume: what is written there is gone with `docker rm`.",
        'docker run -v tf29-workspace:/workspace …, or -v "$PWD":/workspace (compose.yaml has a '
        "volume).",
        "Docker documentation, Volumes",
    ),
    Rule(
        "machine_disk_full",
        "error",
        "The disk is full",
        "Less than 200 MiB are left where a training writes its checkpoints and its model.",
        "Make room (`docker system df`, `docker system prune`), or mount another disk.",
        "docs/training.md",
    ),
    Rule(
        "machine_disk_low",
        "warning",
        "The disk is nearly full",
        "Less than 2 GiB are left: a few large models with their checkpoints.",
        "Make room (`docker system df`, `docker system prune`), or mount another disk.",
        "docs/training.md",
    ),
    Rule(
        "machine_port_foreign",
        "warning",
        "Another program listens on a port of ours",
        "The container shares the host's network, and the port was taken: our service cannot "
        "start.",
        "End that program, or publish the ports (-p 127.0.0.1:8888:8888) in place of "
        "--network host.",
        "README.md",
    ),
    # --- With --deep.
    Rule(
        "deep_failed",
        "error",
        "TensorFlow cannot compute here",
        "A small multiplication or convolution failed.",
        "Read the findings beside this one; `TF_CPP_MIN_LOG_LEVEL=0 doctor --deep` shows "
        "TensorFlow's own words.",
        "TensorFlow, GPU guide",
    ),
    Rule(
        "deep_gpu_unused",
        "error",
        "NVML sees a GPU, but TensorFlow uses none",
        "A library of CUDA or cuDNN is missing, CUDA_VISIBLE_DEVICES hides it, or its compute "
        "capability is too low.",
        "`TF_CPP_MIN_LOG_LEVEL=0 doctor --deep 2>&1 | doctor --log=-` names the line.",
        "TensorFlow, GPU guide",
    ),
    Rule(
        "deep_wrong_result",
        "error",
        "TensorFlow computes wrongly here",
        "A multiplication whose result is known gave another one: faulty memory, an overclocked "
        "card, or a broken library.",
        "Test the memory (`nvidia-smi -q -d ECC`, memtest86+), take back overclocking.",
        "docs/doctor.md",
    ),
    Rule(
        "deep_low_precision_slow",
        "info",
        "Half precision gains nothing on the small trial",
        "The trial is short and small; `bench` measures what a training gains.",
        "`bench --preset=compute`.",
        "docs/bench.md",
    ),
)

# --- A training's output folder ----------------------------------------------------------------
RUN: tuple[Rule, ...] = (
    # Why it ended: the verdicts of the trainer, in its own words, in its log too.
    *(
        Rule(
            f"verdict_{name}",
            "error",
            f"The training failed: {verdict.cause}",
            f"{verdict.cause[0].upper()}{verdict.cause[1:]}.",
            verdict.remedy + (" Other flags need a new --out." if name in NEED_OTHER_FLAGS else ""),
            "docs/training.md, Faults and remedies",
            (rf"failed: {re.escape(verdict.cause)} \(",),
        )
        for name, verdict in VERDICTS.items()
    ),
    Rule(
        "run_killed",
        "error",
        "The training ended without a word",
        "Its process was killed (out of memory: status 137; docker kill; a power cut): it had no "
        "time to write its summary.",
        "`docker inspect -f '{{.State.OOMKilled}}' NAME` tells whether memory was the reason: "
        "smaller --batch_size or a higher limit. The same command with the same --out goes on "
        "from the last checkpoint.",
        "docs/training.md, Faults and remedies",
    ),
    Rule(
        "run_file_damaged",
        "error",
        "A file of the run cannot be read",
        "It was cut off (a full disk, a kill, a copy that broke off) or edited.",
        "Look at the disk (df -h) and copy the folder anew; a damaged line of metrics.jsonl costs "
        "only itself, a damaged config.json makes the run impossible to resume.",
        "docs/training.md",
    ),
    Rule(
        "run_before_its_start",
        "error",
        "The run ended before its first step",
        "The folder was taken, and the training ended while it was set up.",
        "Start it again with the same --out: the folder counts as empty.",
        "docs/training.md",
    ),
    Rule(
        "run_gpu_idle",
        "error",
        "The machine has a GPU, and the training ran on the CPU",
        "NVML saw a GPU that TensorFlow could not use: a missing library, CUDA_VISIBLE_DEVICES, "
        "or a base without cuDNN.",
        "Run `doctor` in the same container: it names the reason.",
        "TensorFlow, GPU guide",
    ),
    Rule(
        "run_loss_not_finite",
        "error",
        "The loss is NaN or infinite",
        "Values left the range of the type they are computed in, or the training diverged.",
        "Lower --learning_rate or set --clip_norm=1; under mixed_float16 `audit` names the layers "
        "that leave float16's range.",
        "docs/training.md, Faults and remedies",
    ),
    Rule(
        "run_scale_at_floor",
        "error",
        "The loss scale has fallen to 1",
        "Every step overflows float16: the gradients themselves are too large, or not finite; "
        "at 1 Keras halves no more.",
        "Lower --learning_rate, make the layers near the output float32, look for NaN in the "
        "data, or use --policy=float32.",
        "keras-team/keras#16100",
    ),
    Rule(
        "run_float16_on_cpu",
        "error",
        "mixed_float16 ran on a CPU",
        "CPUs have no float16 arithmetic: it is about a hundred times slower than float32 there.",
        "--policy=auto takes what fits; a GPU needs --gpus all.",
        "docs/training.md, Policies",
    ),
    Rule(
        "run_many_skipped",
        "warning",
        "Many steps were skipped",
        "Their gradients were not finite in float16: the scale is at its limit again and again, or "
        "some examples or layers leave float16's range.",
        "Lower --learning_rate or --initial_scale, raise --growth_steps, give the layers that "
        "`audit` names dtype='float32'.",
        "docs/training.md, Loss scaling",
    ),
    Rule(
        "run_scale_never_grew",
        "warning",
        "The loss scale never grew",
        "There was no --growth_steps steps without an overflow in a row: float16's range is just "
        "enough, and small gradients may be lost.",
        "Look with `audit --data=…` which layers are near the limit, and make them float32.",
        "docs/training.md, Loss scaling",
    ),
    Rule(
        "run_float16_without_tensor_cores",
        "warning",
        "mixed_float16 ran on a GPU without float16 Tensor Cores",
        "Before Volta, and on the GTX 16 series, float16 is no faster than float32; it saves "
        "memory only.",
        "--policy=float32, if memory allows.",
        "tensorflow/tensorflow#44191",
    ),
    Rule(
        "run_float32_on_tensor_cores",
        "warning",
        "float32 ran on a GPU with float16 Tensor Cores",
        "The fast half of the card was not used.",
        "--policy=mixed_float16 (auto takes it); `bench` measures what it gains.",
        "NVIDIA, Train With Mixed Precision",
    ),
    Rule(
        "run_bfloat16_without_amx",
        "warning",
        "mixed_bfloat16 ran on a CPU without AMX",
        "Without AMX, bfloat16 is slower than float32 on a CPU, or no faster.",
        "--policy=float32 there (auto takes it); `bench` measures it.",
        "docs/training.md, Policies",
    ),
    Rule(
        "run_guess_level",
        "warning",
        "Validation is no better than guessing",
        "The model has learned nothing that holds: rate, labels that do not belong to the "
        "examples, unscaled data, or a validation set of another kind.",
        "Another --learning_rate (ten times higher or lower); look at some examples with their "
        "labels; more epochs if the training loss still falls.",
        "docs/training.md, Faults and remedies",
    ),
    Rule(
        "run_overfitting",
        "warning",
        "Training is clearly better than validation",
        "The model learns the training examples by heart (overfitting).",
        "--early_stopping=3 keeps the best epoch; more data, augmentation, dropout, or a smaller "
        "model.",
        "docs/training.md",
    ),
    Rule(
        "run_past_its_best",
        "warning",
        "The validation loss was lower in an earlier epoch",
        "The training went on after its best epoch.",
        "--early_stopping=3 would have kept the best weights; fewer epochs, or a falling rate "
        "(--schedule=cosine).",
        "docs/training.md",
    ),
    Rule(
        "run_loss_rose",
        "warning",
        "The training loss rose towards the end",
        "The learning rate is too high for what is left to learn.",
        "A lower --learning_rate, --schedule=cosine, or --clip_norm=1.",
        "docs/training.md",
    ),
    Rule(
        "run_waits_for_input",
        "warning",
        "The training waits for its input",
        "Examples come more slowly than the device takes them: decoding, a slow disk, a function "
        "of yours.",
        "--input=device where they fit; fewer or smaller images, a faster disk, more CPU cores; "
        "a mixed policy gains nothing until then.",
        "TensorFlow guide, Better performance with the tf.data API",
    ),
    Rule(
        "run_first_epoch_slow",
        "warning",
        "The first epoch took much longer than the others",
        "Kernels were compiled from PTX for this card (8.6 and newer with TensorFlow 2.9), or the "
        "data came from a cold disk.",
        "Keep CUDA's cache on a volume (/var/cache/cuda) with CUDA_CACHE_MAXSIZE=2147483648: the "
        "next start is fast.",
        "tensorflow/tensorflow#60739",
    ),
    Rule(
        "run_slowed_down",
        "warning",
        "The training became slower",
        "The device got hot or was shared with another program, memory ran short, or the input "
        "did.",
        "`nvidia-smi -q -d PERFORMANCE,TEMPERATURE` shows clocks and heat, nvidia-smi who else is "
        "on the card; watch the memory.",
        "NVIDIA, nvidia-smi documentation",
    ),
    Rule(
        "run_silent",
        "warning",
        "The training runs, and has written nothing for long",
        "It waits for something: the first start compiles kernels for half an hour on a new card, "
        "an input function hangs, a disk does not answer.",
        "`docker top NAME` and nvidia-smi show whether it works; `py-spy dump --pid PID` where it "
        "stands. SIGTERM lets it save and end.",
        "tensorflow/tensorflow#60739",
    ),
    Rule(
        "run_memory_nearly_full",
        "warning",
        "The memory was nearly full",
        "A slightly larger batch, or another program on the device, would have ended it.",
        "A smaller --batch_size with --accumulate_steps for the same step; mixed_float16 on a GPU.",
        "docs/training.md, Faults and remedies",
    ),
    Rule(
        "run_stopped",
        "info",
        "The training was stopped by a signal, and has saved",
        "docker stop, Ctrl-C, or a logout ended it (SIGTERM, SIGINT, SIGHUP).",
        "The same command with the same --out goes on where it stopped.",
        "docs/training.md, Checkpoints",
    ),
    Rule(
        "run_some_gpus_unused",
        "info",
        "Some GPUs were not used",
        "The trainer takes the first GPU it sees.",
        "CUDA_VISIBLE_DEVICES=1 for a second run beside the first.",
        "docs/training.md",
    ),
    Rule(
        "run_batch_not_multiple_of_8",
        "info",
        "The batch is no multiple of 8",
        "Tensor Cores work on multiples of 8 in float16.",
        "--batch_size in multiples of 8, best of 64.",
        "NVIDIA, Matrix Multiplication Background User's Guide",
    ),
)

# --- Logs: the host and its engine, then the container, the libraries, the program --------------
LOG: tuple[Rule, ...] = (
    # --- The host and its engine: the container did not start.
    Rule(
        "gpu_option_refused",
        "error",
        "Docker cannot select a device driver with the capability gpu",
        "The NVIDIA Container Toolkit is not installed on the host, Docker was not restarted "
        "since, or Docker is the snap's.",
        "Install nvidia-container-toolkit, run `sudo nvidia-ctk runtime configure "
        "--runtime=docker` and `sudo systemctl restart docker`; replace a Docker from snap. "
        "Without a GPU leave out --gpus.",
        "NVIDIA/nvidia-docker#1034",
        (r'could not select device driver "?[^"]*"? ?with capabilit',),
    ),
    Rule(
        "nvidia_runtime_unknown",
        "error",
        "Docker does not know the runtime nvidia",
        "The NVIDIA Container Toolkit is not installed, or its runtime does not stand in "
        "/etc/docker/daemon.json.",
        "Install it, run `sudo nvidia-ctk runtime configure --runtime=docker`, restart "
        "Docker; or use --gpus all instead of --runtime=nvidia.",
        "NVIDIA/nvidia-docker#838",
        (r'(?i)unknown (or invalid )?runtime (name|specified):? "?nvidia',),
    ),
    Rule(
        "nvidia_hook_missing",
        "error",
        "Docker cannot find nvidia-container-runtime or its hook",
        "Docker is set up for the NVIDIA runtime, but the toolkit's programs are not there, "
        "or not on Docker's PATH.",
        "Install nvidia-container-toolkit again, or take the runtime out of "
        "/etc/docker/daemon.json, and restart Docker.",
        "NVIDIA Container Toolkit, Installing",
        (
            r'nvidia-container-(runtime|cli|toolkit)[^ ]*"?: (executable file not found'
            r"|no such file)",
        ),
    ),
    Rule(
        "host_driver_library_missing",
        "error",
        "nvidia-container-cli cannot load libnvidia-ml.so.1",
        "The host has no NVIDIA driver, or this Docker does not see it: it comes from snap, "
        "is Docker Desktop on Linux, or is rootless.",
        "See whether nvidia-smi works on the host, and install the driver if not. `snap list "
        "docker`: remove that one and use docker-ce; with Docker Desktop run `docker context "
        "use default`.",
        "NVIDIA/nvidia-container-toolkit#154",
        (r"load library failed: libnvidia-ml\.so\.1", r"nvml error: libnvidia-ml"),
    ),
    Rule(
        "host_driver_mismatch",
        "error",
        "The driver's library and its kernel module have different versions",
        "The NVIDIA driver was updated while its old kernel module stayed loaded.",
        "Reboot the host (or unload and load the modules: `sudo rmmod nvidia_uvm nvidia_drm "
        "nvidia_modeset nvidia`). Keep unattended updates off the driver.",
        "NVIDIA/nvidia-container-toolkit#394",
        (
            r"(?i)driver/library version mismatch",
            r"kernel version [\d.]+ does not match DSO version",
            r"NVRM: API mismatch",
        ),
    ),
    Rule(
        "wsl_no_adapter",
        "error",
        "WSL is seen, but no graphics adapter",
        "Windows' NVIDIA driver does not offer the GPU to WSL 2: it is too old, or the WSL "
        "kernel is.",
        "Update the driver in Windows (none in WSL), run `wsl --update` and `wsl --shutdown`, "
        "restart Docker Desktop.",
        "NVIDIA/nvidia-container-toolkit#155",
        (
            r"WSL environment detected but no adapters were found",
            r"stat failed: /usr/lib/wsl/",
        ),
    ),
    Rule(
        "image_holds_driver_files",
        "error",
        "A driver file that is to be mounted exists in the image",
        "The image holds files of the driver (libnvidia-ml.so.1, libcuda.so.1), left by a "
        "build with a GPU; the toolkit mounts them itself.",
        "Delete them in the Dockerfile: `RUN rm -f /usr/lib/x86_64-linux-gnu/libnvidia-*.so.1 "
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1`, or build without the NVIDIA runtime as the "
        "default.",
        "NVIDIA/nvidia-docker#1551",
        (r"mount error: file creation failed: .*: file exists",),
    ),
    Rule(
        "driver_too_old_for_image",
        "error",
        "The image asks for a newer CUDA than the driver has",
        "The host's driver is older than the CUDA of the image (NVIDIA_REQUIRE_CUDA, for this "
        "image cuda>=11.2).",
        "Update the host's driver: CUDA 11.2 needs 460.27.03 or newer. "
        "NVIDIA_DISABLE_REQUIRE=1 only skips the check (450.80.02 may do).",
        "NVIDIA/nvidia-docker#1512",
        (r"requirement error: .*unsatisfied condition: (cuda|driver|brand)",),
    ),
    Rule(
        "cgroup_devices_missing",
        "error",
        "nvidia-container-cli finds no devices cgroup",
        "The host uses cgroup v2, and the toolkit is older than 1.8, which cannot handle it.",
        "Update nvidia-container-toolkit and libnvidia-container; else boot with "
        "systemd.unified_cgroup_hierarchy=0.",
        "NVIDIA/nvidia-docker#1447",
        (r"cgroup subsystem devices not found",),
    ),
    Rule(
        "toolkit_needs_no_cgroups",
        "error",
        "nvidia-container-cli may not add device rules",
        "Docker or Podman runs rootless, and may not change the devices cgroup.",
        "Set no-cgroups = true in /etc/nvidia-container-runtime/config.toml (`sudo nvidia-ctk "
        "config --set nvidia-container-cli.no-cgroups --in-place`).",
        "NVIDIA Container Toolkit, Troubleshooting",
        (
            r"failed to add device rules",
            r"bpf_prog_query\(BPF_CGROUP_DEVICE\) failed",
            r"nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices",
        ),
    ),
    Rule(
        "toolkit_ldconfig_failed",
        "error",
        "nvidia-container-cli cannot update the linker's cache",
        "The path of ldconfig in the toolkit's configuration is not this host's, or not the "
        "image's; or the container's file system refuses it.",
        'Set ldconfig = "@/sbin/ldconfig" (Debian, Fedora) or "@/sbin/ldconfig.real" (Ubuntu) '
        "in /etc/nvidia-container-runtime/config.toml.",
        "NVIDIA/nvidia-docker#1760",
        (r"nvidia-container-cli: ldcache error",),
    ),
    Rule(
        "unknown_gpu_asked",
        "error",
        "--gpus names a device that is not there",
        "The index or UUID given to --gpus or NVIDIA_VISIBLE_DEVICES is none of this host's.",
        "`nvidia-smi -L` lists them. Write --gpus all, or --gpus '\"device=0,1\"' with both "
        "pairs of quotes.",
        "NVIDIA Container Toolkit, Troubleshooting",
        (
            r"nvidia-container-cli: device error: .*(unknown device|not found|invalid)",
            r"cannot set both Count and DeviceIDs on device request",
        ),
    ),
    Rule(
        "cdi_devices_missing",
        "error",
        "The GPU devices of CDI cannot be resolved",
        "No CDI description of the GPUs exists, or it is older than the driver.",
        "`sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`, again after each "
        "update of the driver.",
        "NVIDIA Container Toolkit, Support for Container Device Interface",
        (
            r"(?i)unresolvable CDI devices",
            r"(?i)failed to inject CDI devices",
            r"CDI device injection failed",
        ),
    ),
    Rule(
        "host_driver_not_loaded",
        "error",
        "The NVIDIA driver is not loaded on the host",
        "The kernel module is missing: a new kernel without a module built for it, Secure "
        "Boot refusing an unsigned one, or nouveau in its place.",
        "On the host: `sudo modprobe nvidia` and `dmesg | grep -i nvrm` say why. Install the "
        "kernel's headers and the driver again (DKMS), enrol the key or switch Secure Boot "
        "off, reboot.",
        "NVIDIA driver README, Common Problems",
        (
            r"couldn't communicate with the NVIDIA driver",
            r"(?i)nvml error: driver not loaded",
            r"Failed to initialize NVML: Driver Not Loaded",
            r"Nouveau kernel driver is currently in use",
            r"nvidia-container-cli: initialization error: .*(driver error|driver not loaded)",
            r"modprobe: (FATAL|ERROR): .*nvidia",
        ),
    ),
    Rule(
        "toolkit_start_failed",
        "error",
        "nvidia-container-cli failed to set up the container",
        "The toolkit's hook ended with the error in this line: mostly the driver of the host, "
        "its permissions, or a Docker from snap.",
        "Run `sudo nvidia-container-cli -k -d /dev/tty info` on the host; update "
        "nvidia-container-toolkit; without a GPU leave out --gpus.",
        "NVIDIA Container Toolkit, Troubleshooting",
        (r"nvidia-container-cli(\.real)?: \w+ error:",),
    ),
    Rule(
        "docker_too_old_for_gpus",
        "error",
        "This docker or compose does not know how to ask for GPUs",
        "--gpus needs Docker 19.03; a GPU in a compose file needs the compose plugin (v2).",
        "Update Docker Engine and the compose plugin; write `docker compose`, not docker-compose.",
        "Docker documentation, Enabling GPU access with Compose",
        (
            r"unknown flag: --gpus?",
            r"(Unsupported config option|Additional propert(y|ies)).*(devices"
            r"|deploy|runtime|gpus|capabilities)",
        ),
    ),
    Rule(
        "docker_daemon_down",
        "error",
        "The Docker daemon cannot be reached",
        "Docker is not running, or the client looks for it at the wrong address (DOCKER_HOST, "
        "context).",
        "`sudo systemctl start docker`, or start Docker Desktop; `docker context ls` shows "
        "which one is asked.",
        "Docker documentation, Troubleshooting the Docker daemon",
        (
            r"Cannot connect to the Docker daemon",
            r"error during connect: .*docker",
            r"Is the docker daemon running\?",
        ),
    ),
    Rule(
        "docker_updated_not_restarted",
        "error",
        "Docker's own program is gone while it runs",
        "Docker was updated, and its daemon is still the old one.",
        "`sudo systemctl restart docker`.",
        "NVIDIA/nvidia-docker#661",
        (r"dockerd \(deleted\)",),
    ),
    Rule(
        "docker_socket_refused",
        "error",
        "No permission for Docker's socket",
        "The user is not in the group docker, or has not logged in again since.",
        "`sudo usermod -aG docker $USER` and a new login; or sudo.",
        "Docker documentation, Linux post-installation steps",
        (
            r"permission denied while trying to connect to the Docker daemon socket",
            r"dial unix .*docker\.sock: connect: permission denied",
        ),
    ),
    Rule(
        "port_taken",
        "error",
        "A published port is taken on the host",
        "Another container, or another program (a Jupyter of yours, another SSH server), "
        "listens on this port.",
        "`docker ps` or `sudo ss -ltnp` shows who; end it, or publish another one: -p "
        "127.0.0.1:8889:8888.",
        "Docker documentation, Port publishing and mapping",
        (
            r"port is already allocated",
            r"(?i)(ports are not available|exposing port|failed to bind|userland proxy).*(add"
            r"ress already in use|bind)",
            r"driver failed programming external connectivity.*(bind|address already in use)",
        ),
    ),
    Rule(
        "iptables_broken",
        "error",
        "Docker cannot set its firewall rules",
        "The firewall was reloaded and Docker's chains are gone, or the kernel lacks a module.",
        "`sudo systemctl restart docker`.",
        "Docker documentation, Packet filtering and firewalls",
        (r"iptables failed: ", r"No chain/target/match by that name"),
    ),
    Rule(
        "container_name_taken",
        "error",
        "A container of this name exists",
        "An earlier container was not removed.",
        "`docker rm -f NAME`, or start with --rm or another --name.",
        "Docker documentation, docker container run",
        (r'The container name "[^"]*" is already in use',),
    ),
    Rule(
        "image_not_found",
        "error",
        "The image or its tag cannot be pulled",
        "There is no such tag (TensorFlow's images of some versions were removed), the name "
        "is misspelt, or it is private.",
        "Look the tag up and write it out; log in with `docker login` where it is private; "
        "build this project's image with scripts/build.",
        "Docker documentation, docker image pull",
        (
            r"manifest (unknown|for .* not found)",
            r"pull access denied for",
            r"repository does not exist or may require",
        ),
    ),
    Rule(
        "pull_rate_limit",
        "error",
        "The registry refuses further pulls",
        "Its limit for pulls without a login, from this address, is reached.",
        "`docker login`, wait for some hours, or use a mirror.",
        "Docker documentation, Docker Hub usage and limits",
        (r"toomanyrequests",),
    ),
    Rule(
        "wrong_cpu_architecture",
        "error",
        "The image is for another CPU architecture",
        "The image is for x86-64 (amd64), and this machine is Arm (Apple silicon, Jetson, "
        "Graviton). TensorFlow 2.9's GPU wheels exist for x86-64 only.",
        "Use an x86-64 machine. --platform linux/amd64 emulates one: slow, without a GPU, and "
        "without AVX TensorFlow ends with Illegal instruction.",
        "Docker documentation, Multi-platform builds",
        (
            r"exec format error",
            r"no matching manifest for linux/(arm|aarch)",
            r"image's platform \(linux/amd64\) does not match",
        ),
    ),
    Rule(
        "crlf_script",
        "error",
        "A script has Windows' line ends",
        "It was checked out or edited with CRLF, so its interpreter is looked for with a "
        "carriage return in the name.",
        "`sed -i 's/\\r$//' FILE`, and `git config core.autocrlf input` before a fresh clone; "
        "build the image again.",
        "Git documentation, gitattributes",
        (
            r"(env|interpreter): .*(\\r|\^M)",
            r"\$'\\r': command not found",
            r"bad interpreter: .*\^M",
            r"(ba)?sh\\r'?: No such file",
        ),
    ),
    Rule(
        "bind_source_missing",
        "error",
        "A folder to be mounted is not there",
        "The path of --mount or of the compose file does not exist on the host, or Docker "
        "Desktop may not share it.",
        "Make the folder, write its absolute path; in Docker Desktop allow it under "
        "Resources, File sharing.",
        "Docker documentation, Bind mounts",
        (r"bind source path does not exist", r"Mounts denied"),
    ),
    Rule(
        "command_not_in_image",
        "error",
        "The command is not in the image",
        "What stands behind the image's name is executed inside: it is misspelt, an option of "
        "docker that belongs before the name, or not installed.",
        "Put options such as -p and -v before the image's name; look with `docker run --rm "
        "-it IMAGE bash`.",
        "Docker documentation, docker container run",
        (
            r'exec: "[^"]*": (executable file not found in \$PATH|stat .*no such file'
            r"|permission denied)",
        ),
    ),
    Rule(
        "threads_refused",
        "error",
        "No further thread or process can be started",
        "The container's limit of processes is reached (--pids-limit, ulimit -u), or Docker "
        "is older than 20.10.10, whose seccomp profile refuses the thread calls of a newer "
        "glibc.",
        "Update Docker Engine; a higher --pids-limit; as a test --security-opt "
        "seccomp=unconfined. OMP_NUM_THREADS and fewer workers need fewer threads.",
        "moby/moby#42680",
        (
            r"pthread_create failed",
            r"can't start new thread",
            r"[Tt]hread creation failed",
            r"terminate called after throwing an instance of 'std::system_error'",
        ),
    ),
    Rule(
        "shm_too_small",
        "error",
        "Shared memory is used up (/dev/shm)",
        "A container has 64 MB of /dev/shm unless told otherwise; NCCL between GPUs and "
        "worker processes of a loader need more.",
        "Start it with --shm-size=1g (compose: shm_size) or --ipc=host.",
        "NVIDIA/nccl#290",
        (
            r"posix_fallocate failed",
            r"/dev/shm/nccl",
            r"Error while creating shared memory segment",
            r"unable to (mmap|write|open) .*(shared memory|/torch_)",
            r"insufficient shared memory",
            r"Bus error",
            r"SIGBUS",
        ),
    ),
    Rule(
        "disk_full",
        "error",
        "The disk is full",
        "The disk of Docker's data, of the volume, or of /tmp has no room left.",
        "`df -h` and `docker system df` show where; `docker system prune` deletes what "
        "nothing uses. Write runs to another disk with --out.",
        "Docker documentation, Prune unused Docker objects",
        (
            r"(?i)no space left on device",
            r"\[Errno 28\]",
            r"Disk quota exceeded",
            r"You don't have enough free space in /var/cache/apt",
        ),
    ),
    # --- Building and installing: TensorFlow cannot be imported.
    Rule(
        "apt_key_rotated",
        "error",
        "apt refuses NVIDIA's package source: no public key",
        "NVIDIA changed the key of its repositories in April 2022; images made before hold "
        "the old one.",
        "Delete the lists, nothing is needed from them: `rm -f "
        "/etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list "
        "/etc/apt/sources.list.d/tensorRT.list`; or fetch the new key 3bf863cc.pub.",
        "tensorflow/tensorflow#56085",
        (
            r"NO_PUBKEY (A4B469963BF863CC|F60F4B3D7FA2AF80)",
            r"The repository 'https?://developer\.download\.nvidia",
        ),
    ),
    Rule(
        "apt_package_missing",
        "error",
        "apt cannot locate a package",
        "The lists of packages are not there (images delete them), or the package has another "
        "name in this release.",
        "`apt-get update && apt-get install -y NAME` in one RUN; look with `apt-cache search`.",
        "Docker documentation, Building best practices, apt-get",
        (r"E: Unable to locate package", r"has no installation candidate"),
    ),
    Rule(
        "certificate_refused",
        "error",
        "A download fails: the certificate cannot be verified",
        "A proxy of your network puts its own certificate in between, or the image's "
        "certificates are old.",
        "Give your authority's file: --ca FILE for scripts/build and scripts/up, PIP_CERT or "
        "SSL_CERT_FILE for pip, `update-ca-certificates`; see whether the clock is right.",
        "pip documentation, HTTPS Certificates",
        (
            r"CERTIFICATE_VERIFY_FAILED",
            r"certificate verify failed",
            r"x509: certificate signed by unknown authority",
        ),
    ),
    Rule(
        "download_timed_out",
        "error",
        "A download broke off or timed out",
        "The network is slow or unstable; the GPU wheel of TensorFlow has 500 MB.",
        "Repeat with `pip install --timeout 100 --retries 10`, or use a mirror near you "
        "(PIP_INDEX_URL).",
        "pip documentation, pip install",
        (
            r"ReadTimeoutError",
            r"Read timed out",
            r"Hash Sum mismatch",
            r"IncompleteRead\(",
            r"net/http: TLS handshake timeout",
        ),
    ),
    Rule(
        "no_network",
        "error",
        "A name cannot be resolved, or a file not be fetched",
        "The container has no network or no DNS; nothing else is wrong with the program that asks.",
        "Restart Docker after a change of network or VPN, give it a DNS server (--dns), or "
        "bring the data in: train needs no network for MNIST.",
        "Docker documentation, Networking overview",
        (
            r"Temporary failure (in name resolution|resolving)",
            r"Name or service not known",
            r"Could not resolve host",
            r"URL fetch failure on",
            r"Failed to establish a new connection: \[Errno (-2|-3|101|110)\]",
        ),
    ),
    Rule(
        "python_does_not_fit",
        "error",
        "pip finds no TensorFlow of this version",
        "TensorFlow 2.9 has wheels for Python 3.7 to 3.10 on x86-64 only: this Python is too "
        "new or too old, 32-bit, or for Arm.",
        "Use Python 3.8 (it is in the image), or a version of TensorFlow made for this "
        "Python; `python -c 'import sys, platform; print(sys.version, platform.machine())'` "
        "shows it. Update pip.",
        "TensorFlow, Build from source, tested build configurations",
        (
            r"No matching distribution found for tensorflow",
            r"Could not find a version that satisfies the requirement tensorflow",
            r"tensorflow[\w.+-]*\.whl is not a supported wheel on this platform",
        ),
    ),
    Rule(
        "hashes_differ",
        "error",
        "pip refuses a file whose hash is another",
        "The lock file names the hash of each package, and what was downloaded is another "
        "file: broken off, changed by a proxy, or of another version.",
        "`pip cache purge` and again; after a change of requirements write the lock anew with "
        "scripts/lock.",
        "pip documentation, Secure installs",
        (r"THESE PACKAGES DO NOT MATCH THE HASHES",),
    ),
    Rule(
        "packages_conflict",
        "error",
        "pip cannot find versions that go together",
        "Two packages want different versions of a third.",
        "Loosen the pins it names, or put that package into an environment of its own.",
        "pip documentation, Dependency resolution",
        (
            r"ResolutionImpossible",
            r"Cannot install .* because these package versions have conflicting dependencies",
            r"UnsatisfiableError: ",
        ),
    ),
    Rule(
        "protobuf_too_new",
        "error",
        "TensorFlow cannot be imported: Descriptors cannot be created directly",
        "protobuf 4 or newer is installed; TensorFlow 2.9 and older need protobuf below 3.20.",
        "`pip install 'protobuf<3.20'`, or TensorFlow 2.9.1 or newer, which asks for that itself.",
        "tensorflow/tensorflow#56266",
        (
            r"Descriptors cannot (not )?be created directly",
            r"cannot import name '(runtime_version|message_factory)' from 'google\.protobuf",
        ),
    ),
    Rule(
        "protobuf_too_old",
        "error",
        "A package cannot import from google.protobuf",
        "protobuf is older than a package beside TensorFlow needs.",
        "`pip install 'protobuf>=3.19.6,<3.20'`; where the package wants 3.20 or newer, take "
        "an older version of it.",
        "protocolbuffers/protobuf#10051",
        (
            r"cannot import name 'builder' from 'google\.protobuf",
            r"has no attribute 'GetPrototype'|No module named 'google\.protobuf'",
        ),
    ),
    Rule(
        "numpy_abi",
        "error",
        "A compiled module does not fit this NumPy",
        "It was compiled for another NumPy: mostly NumPy 2 was installed over 1, or an older "
        "one than the module needs.",
        "`pip install 'numpy<1.24'` for TensorFlow 2.9, then install the package that is "
        "named again.",
        "NumPy 2.0 migration guide",
        (
            r"compiled using NumPy 1\.x cannot be run in",
            r"numpy\.core\.(_)?multiarray failed to import",
            r"_ARRAY_API not found",
            r"module compiled against (ABI|API) version",
            r"numpy\.(ndarray|dtype|ufunc) size changed",
        ),
    ),
    Rule(
        "numpy_names_removed",
        "error",
        "NumPy has no attribute bool, object, typeDict or the like",
        "NumPy 1.24 removed these old names (typeDict: 1.21); the library that uses them is older.",
        "`pip install 'numpy<1.24'` (typeDict: also update h5py), or replace them in your "
        "code: np.bool by bool.",
        "NumPy 1.24.0 release notes, Expired deprecations",
        (
            r"module 'numpy' has no attribute '(bool|object|int|float|complex"
            r"|str|long|unicode|typeDict)'",
            r"`np\.(bool|object|int|float)8?` was a deprecated alias",
        ),
    ),
    Rule(
        "numpy_symbolic_tensor",
        "error",
        "A symbolic tensor cannot be converted to a NumPy array",
        "NumPy 1.20 or newer under TensorFlow 2.4 or older (LSTM and GRU layers show it); or "
        "your own code calls NumPy on a tensor inside a graph.",
        "TensorFlow 2.5 or newer, or `pip install 'numpy<1.20'`; in your code use tf "
        "functions instead of np ones.",
        "tensorflow/models#9706",
        (r"Cannot convert a symbolic (tf\.)?(Keras )?(input/output )?(T|t)ensor",),
    ),
    Rule(
        "keras_does_not_fit",
        "error",
        "Keras cannot be imported: it is not of TensorFlow's version",
        "The package keras has another version than tensorflow: for TensorFlow 2.6 to 2.15 "
        "both must agree (2.9 with 2.9), and 2.5 and older have their own.",
        "`pip install keras==2.9.0` for TensorFlow 2.9 (take your TensorFlow's number), and "
        "import tensorflow.keras.",
        "tensorflow/tensorflow#56298",
        (
            r"cannot import name '?dtensor",
            r"module 'tensorflow\.compat\.v2\.__internal__' has no attribute",
            r"cannot import name '?(tf2|LayerNormalization|get_config|keras_tensor"
            r"|_v2)'? from '?(tensorflow\.python|keras)",
            r"No module named 'keras\.(engine|src|api|legacy_tf_layers|saving"
            r"|utils\.generic_utils|layers\.advanced_activations)",
            r"No module named 'tensorflow\.(python\.)?keras",
            r"module 'keras\.(backend|engine|utils\.generic_utils)' has no attribute",
            r"AlreadyExistsError: Another metric with the same name already exists",
        ),
    ),
    Rule(
        "tensorflow_1_code",
        "error",
        "Code for TensorFlow 1 runs under TensorFlow 2",
        "Session, placeholder, ConfigProto, contrib and their like are gone in TensorFlow 2.",
        "`import tensorflow.compat.v1 as tf; tf.disable_v2_behavior()`, or rewrite it; "
        "contrib has no replacement in one piece: see tf-slim and TensorFlow Addons.",
        "TensorFlow guide, Migrate to TensorFlow 2",
        (
            r"module 'tensorflow(\._api\.v2)?' has no attribute '(Session|placeholder"
            r"|ConfigProto|GPUOptions|get_default_graph|set_random_seed|global_variables_init"
            r"ializer|variable_scope|app|flags|contrib|reset_default_graph"
            r"|InteractiveSession|gfile|logging|layers|truncated_normal|random_normal"
            r"|log|to_float|to_int32|summary\.merge_all)'",
            r"No module named 'tensorflow\.contrib",
            r"module 'tensorflow\._api\.v2\.\w+' has no attribute",
            r"tf\.placeholder\(\) is not compatible with eager execution",
            r"The Session graph is empty",
        ),
    ),
    Rule(
        "shadowed_module",
        "error",
        "A file of yours has the name of a package",
        "A tensorflow.py, keras.py, numpy.py or random.py beside the program is imported in "
        "place of the package.",
        "Give it another name, and delete its __pycache__.",
        "Python tutorial, Modules, The Module Search Path",
        (
            r"partially initialized module '\w+'? ?.*(circular import)",
            r"module 'tensorflow' has no attribute '(__version__|constant|keras"
            r"|Variable|config|function)'",
        ),
    ),
    Rule(
        "cpu_without_avx",
        "error",
        "Python dies with Illegal instruction",
        "TensorFlow's wheels need AVX: this CPU has none, or the virtual machine or emulator "
        "hides it.",
        "`grep -o -m1 avx /proc/cpuinfo` shows it. In a virtual machine pass the host's CPU "
        "through (QEMU -cpu host); on a CPU without AVX build TensorFlow from source.",
        "tensorflow/tensorflow#17411",
        (
            r"(?i)illegal instruction",
            r"SIGILL",
            r"was compiled to use AVX instructions, but these aren't available",
        ),
    ),
    Rule(
        "glibc_too_old",
        "error",
        "A library asks for a newer glibc or libstdc++",
        "The package was built for a newer Linux than this one.",
        "Take a version built for this system (manylinux wheels by pip, not a copied binary), "
        "or run it in the image. For GLIBCXX in conda: `conda install libstdcxx-ng`, first on "
        "LD_LIBRARY_PATH.",
        "PEP 600, manylinux",
        (r"version [`'](GLIBC|GLIBCXX|CXXABI)_[\d.]+' not found",),
    ),
    Rule(
        "extension_built_for_other_tensorflow",
        "error",
        "An extension has an undefined symbol",
        "It was built against another TensorFlow: tensorflow-text, -io, -addons, horovod and "
        "custom operations must fit its version exactly.",
        "Install the release that belongs to TensorFlow 2.9 (tensorflow-text 2.9, "
        "tensorflow-addons 0.17 or 0.18, tensorflow-io 0.26), or build the operation again.",
        "TensorFlow guide, Create an op",
        (
            r"undefined symbol: _Z\w*(tensorflow|absl|tsl)",
            r"NotFoundError: .*\.so: undefined symbol",
            r"unable to open file: libtensorflow_io",
        ),
    ),
    Rule(
        "libgl_missing",
        "error",
        "OpenCV cannot be imported: a graphics library is missing",
        "opencv-python wants the libraries of a desktop, which an image has not.",
        "`pip install opencv-python-headless` in place of opencv-python, or `apt-get install "
        "libgl1 libglib2.0-0`.",
        "opencv-python README, Installation and Usage",
        (
            r"lib(GL|gthread-2\.0|glib-2\.0|SM|Xext|Xrender)\.so\.\d+: cannot open shared obj"
            r"ect",
        ),
    ),
    Rule(
        "windows_dll_missing",
        "error",
        "TensorFlow's native library cannot be loaded in Windows",
        "The Visual C++ runtime is missing, Python is 32-bit or too new, or CUDA's DLLs are "
        "not on the PATH. TensorFlow 2.11 and newer has no GPU support in Windows itself.",
        "Install the Visual C++ 2015-2022 redistributable and 64-bit Python; for a GPU use "
        "TensorFlow 2.10 or older, WSL 2, or this image.",
        "tensorflow/tensorflow#35618",
        (
            r"DLL load failed while importing",
            r"Could not load dynamic library '\w+\.dll'",
            r"ImportError: DLL load failed",
        ),
    ),
    Rule(
        "h5py_too_new",
        "error",
        "A .h5 model cannot be read: str has no attribute decode",
        "h5py 3 under a Keras made for h5py 2 (TensorFlow 2.3 and older, keras 2.2).",
        "`pip install 'h5py<3'`, or a newer TensorFlow.",
        "tensorflow/tensorflow#44467",
        (r"'str' object has no attribute 'decode'",),
    ),
    Rule(
        "package_for_other_tensorflow",
        "error",
        "A package cannot import from TensorFlow's internals",
        "It was written for another version of TensorFlow, whose internal modules differ, or "
        "TensorFlow's own files are of two versions (an update that broke off, tf-nightly beside "
        "it).",
        "Install the release of that package for TensorFlow 2.9; else "
        "`pip uninstall tensorflow tf-nightly tensorflow-intel` until none is left, and install "
        "2.9.1 anew.",
        "tf-encrypted/tf-encrypted#895",
        (
            r"cannot import name '?\w+'? from '?tensorflow\.(python|core|compat|_api)",
            r"cannot import name '?\w+'? from '?tensorflow'? \(unknown location\)",
            r"No module named 'tensorflow(_core|\.python|\.core|\.tsl|\.compat)",
            r"No module named 'tensorflow_(estimator|addons\.utils)'",
        ),
    ),
    Rule(
        "openmp_twice",
        "error",
        "OpenMP is loaded twice",
        "Two packages bring their own OpenMP library (NumPy with MKL, PyTorch, TensorFlow), "
        "mostly pip and conda mixed.",
        "One environment by pip alone; as a stopgap KMP_DUPLICATE_LIB_OK=TRUE.",
        "Intel OpenMP runtime, Error 15",
        (r"OMP: Error #15", r"libiomp5\S* already initialized"),
    ),
    Rule(
        "git_ownership",
        "error",
        "git refuses the repository: dubious ownership",
        "The mounted folder belongs to another user than the one who runs git in the container.",
        "`git config --global --add safe.directory /workspace/REPO`, or start with -e "
        'PUID="$(id -u)".',
        "git-config(1), safe.directory",
        (r"detected dubious ownership in repository",),
    ),
    Rule(
        "environment_variable_missing",
        "error",
        "A program misses an environment variable",
        "It is not set in this session: a login by SSH, cron, or another container does not "
        "have what docker run -e gave (in this image an SSH session does).",
        "`env | sort` in the same session; set it there, or read it with os.environ.get(NAME, "
        "default).",
        "microsoft/vscode-remote-release#4781",
        (r"os\.py\", line \d+, in __getitem__", r"os\.environ\[['\"]\w+['\"]\]"),
        also=(r"^KeyError: ",),
    ),
    Rule(
        "module_missing",
        "error",
        "A Python module is not installed",
        "The package is not in this environment, or the program runs with another Python than "
        "the one it was installed for.",
        "`python -m pip install NAME` with the same python (in a notebook %pip install NAME); "
        "in a container it is gone with it, unless it stands in your Dockerfile.",
        "Python documentation, Installing Python Modules",
        (r"ModuleNotFoundError: No module named", r"ImportError: No module named"),
    ),
    # --- SSH.
    Rule(
        "ssh_key_modes",
        "error",
        "sshd refuses the key: bad ownership or modes",
        "authorized_keys, or a folder above it, belongs to another user or is writable for "
        "others; a mounted file keeps the host's owner.",
        "`chmod go-w ~ ~/.ssh ~/.ssh/authorized_keys` and chown to the user; in this image "
        "give the key by AUTHORIZED_KEYS or AUTHORIZED_KEYS_FILE, which are copied with the "
        "right modes.",
        "panubo/docker-sshd#5",
        (r"bad ownership or modes for",),
    ),
    Rule(
        "ssh_private_key_open",
        "error",
        "ssh ignores the private key: it is open to others",
        "The file of the private key can be read by others (often on a Windows drive or an "
        "NFS share).",
        "`chmod 600 ~/.ssh/id_ed25519`; in WSL keep it under ~ and not under /mnt/c.",
        "ssh(1), FILES",
        (r"UNPROTECTED PRIVATE KEY FILE", r"Permissions \d+ for '.*' are too open"),
    ),
    Rule(
        "ssh_host_key_changed",
        "error",
        "ssh refuses the host: its identification has changed",
        "The container was made anew with a new host key, or another one answers at this "
        "address and port.",
        "`ssh-keygen -R '[127.0.0.1]:2222'` once you know that it is yours; keep "
        "/etc/ssh/host_keys on a volume.",
        "ssh(1), VERIFYING HOST KEYS",
        (r"REMOTE HOST IDENTIFICATION HAS CHANGED", r"Host key verification failed"),
    ),
    Rule(
        "ssh_old_algorithms",
        "error",
        "ssh and sshd have no algorithm in common",
        "One of the two is much older: it offers only ssh-rsa (SHA-1) or an old key exchange, "
        "which the other refuses.",
        "Use an Ed25519 key and update the older side; as a stopgap -o "
        "HostKeyAlgorithms=+ssh-rsa -o PubkeyAcceptedAlgorithms=+ssh-rsa.",
        "OpenSSH 8.8 release notes",
        (
            r"no matching (host key type|key exchange method|cipher|MAC) found",
            r"no mutual signature algorithm",
            r"not in PubkeyAccepted(KeyTypes|Algorithms)",
        ),
    ),
    Rule(
        "ssh_too_many_keys",
        "error",
        "sshd ends the login: too many authentication failures",
        "The agent offers key after key, and sshd gives up before the right one.",
        "ssh -o IdentitiesOnly=yes -i ~/.ssh/KEY …",
        "ssh_config(5), IdentitiesOnly",
        (r"Too many authentication failures",),
    ),
    Rule(
        "ssh_account_locked",
        "error",
        "sshd refuses the user: the account is locked",
        "The user's password field begins with !, which sshd without PAM takes for locked, "
        "for keys too.",
        "`usermod -p '*' USER` in the image.",
        "sshd(8), AUTHENTICATION",
        (r"not allowed because account is locked",),
    ),
    Rule(
        "ssh_no_privsep_folder",
        "error",
        "sshd does not start: its privilege separation folder is missing",
        "/run/sshd is not there: /run is a tmpfs, or nothing made it at the start.",
        "`mkdir -p /run/sshd` before sshd starts (this image does).",
        "moby/moby#19351",
        (r"Missing privilege separation directory",),
    ),
    Rule(
        "ssh_no_host_keys",
        "error",
        "sshd does not start: it has no host keys",
        "None were made, or they cannot be read by who starts it.",
        "`ssh-keygen -A` at the first start; on a volume see that the files are root's with "
        "mode 600.",
        "sshd(8)",
        (r"sshd: no hostkeys available", r"Could not load host key"),
    ),
    Rule(
        "ssh_forward_refused",
        "error",
        "A forwarded port does not open",
        "Nothing listens on the target port inside, sshd forbids forwarding, or the local "
        "port is in use.",
        "See whether the service runs and on which port; -L 8889:127.0.0.1:8888 takes another "
        "local one.",
        "ssh(1), -L",
        (
            r"channel \d+: open failed",
            r"channel_setup_fwd_listener_tcpip: cannot listen to port",
            r"Could not request local forwarding",
        ),
    ),
    Rule(
        "ssh_key_refused",
        "error",
        "ssh: permission denied (publickey)",
        "sshd has not this key: no or another public key was given to the container, the "
        "user's name is wrong, or the private key is not offered.",
        'Give it with -e AUTHORIZED_KEYS="$(cat ~/.ssh/id_ed25519.pub)", log in as user on '
        "port 2222; `ssh -v` shows which keys are offered, the container's log why one is "
        "refused.",
        "sshd(8), AUTHORIZED_KEYS FILE FORMAT",
        (r"Permission denied \(publickey",),
    ),
    Rule(
        "vscode_server_failed",
        "error",
        "The editor's server does not start on the remote side",
        "VS Code's server needs a newer glibc or libstdc++ than this system has, no room or "
        "no write access in the home folder, or a login script prints or fails.",
        "See the log it names; an older VS Code, or its legacy server mode, on old systems; "
        "`rm -rf ~/.vscode-server` after a broken download; no output in .bashrc.",
        "VS Code documentation, Remote Development FAQ",
        (
            r"The VS Code Server failed to start",
            r"prerequisites for glibc and libstdc\+\+",
            r"Could not establish connection to \"",
        ),
    ),
    Rule(
        "ssh_unreachable",
        "error",
        "ssh: nothing answers at this address and port",
        "The port is not published or another one is, sshd is off (without a key it stays "
        "off), the container has ended, or a firewall is in between.",
        "`docker ps` shows the ports, `docker logs NAME` whether sshd is on; -p "
        "127.0.0.1:2222:2222 and ssh -p 2222. From another computer BIND_ADDRESS must allow "
        "it.",
        "Docker documentation, Port publishing and mapping",
        (
            r"ssh: connect to host .*(refused|timed out|No route)",
            r"kex_exchange_identification",
            r"ssh_exchange_identification",
        ),
    ),
    # --- Jupyter and TensorBoard.
    Rule(
        "jupyter_port_in_use",
        "error",
        "Jupyter's port is in use",
        "Another Jupyter, on the host or an earlier one, has the port; its page asks for its "
        "own token.",
        "`jupyter server list` and `docker ps` show them; end the other one, or publish "
        "another port.",
        "jupyter/docker-stacks#1035",
        (
            r"port \d+ is already in use, trying another",
            r"(server|notebook server) could not be started because no available port",
        ),
    ),
    Rule(
        "jupyter_bind_address",
        "error",
        "Jupyter cannot listen: cannot assign requested address",
        "It was told to listen on an address that the container does not have, or IPv6 is off.",
        "--ip=0.0.0.0 inside the container.",
        "Jupyter Server documentation, Running a public Jupyter Server",
        (r"OSError: \[Errno 99\]", r"socket\.error: .*Cannot assign requested address"),
    ),
    Rule(
        "jupyter_root_refused",
        "error",
        "Jupyter refuses to run as root",
        "It is started as root without being allowed to.",
        "Start it as a user (this image does); else --allow-root.",
        "Jupyter Server documentation, Config file and command line options",
        (r"Running as root is not recommended\. Use --allow-root",),
    ),
    Rule(
        "jupyter_folder_not_writable",
        "error",
        "Jupyter may not write into the notebooks' folder",
        "The mounted folder belongs to another user than Jupyter's, or Docker made it as root "
        "because it was not there.",
        'This image: -e PUID="$(id -u)" -e PGID="$(id -g)" with an absolute path '
        '(-v "$PWD":/workspace); else --user, or chown the folder on the host.',
        "jupyter/docker-stacks#114",
        (
            r"Permission denied: \S+\.ipynb",
            r"Permission denied: '?[^']*(\.ipynb|/\.local/share/jupyter|/\.jupyter|/\.ipython)",
        ),
    ),
    Rule(
        "jupyter_xsrf",
        "error",
        "Jupyter refuses a request: _xsrf is missing",
        "A page left open belongs to a server that has ended, or a script posts without the token.",
        "Load the page again, or delete the site's cookies; in scripts send the header "
        "Authorization: token TOKEN.",
        "Jupyter Server documentation, Security in the Jupyter Server",
        (r"'_xsrf' argument missing", r"XSRF cookie does not match"),
    ),
    Rule(
        "jupyter_websocket",
        "error",
        "Jupyter's kernel does not connect: the WebSocket is refused",
        "A proxy in front does not pass WebSockets on, or changes host and origin; or the "
        "page's login belongs to another server.",
        "In nginx: proxy_http_version 1.1, Upgrade and Connection headers, Host $host; set "
        "JUPYTER_BASE_URL as the proxy has it; log in again.",
        "jupyter/notebook#1311",
        (
            r"\b400 GET /.*/channels",
            r"Couldn't authenticate WebSocket connection",
            r"Blocking Cross Origin (WebSocket|API)",
            r"WebSocket connection to '.*' failed",
            r'Can "Upgrade" only to "WebSocket"',
        ),
    ),
    Rule(
        "jupyter_kernel_missing",
        "error",
        "Jupyter does not find the notebook's kernel",
        "The notebook names a kernel of another machine or environment.",
        "Choose one in the menu Kernel, or make it: `python -m ipykernel install --user "
        "--name NAME`.",
        "IPython documentation, Installing the IPython kernel",
        (r"No such kernel named", r"NoSuchKernel"),
    ),
    Rule(
        "jupyter_old_settings",
        "warning",
        "Jupyter ignores a setting",
        "It has the name of the old notebook server: NotebookApp settings do nothing in "
        "Jupyter Server.",
        "Write ServerApp in place of NotebookApp.",
        "iot-salzburg/gpu-jupyter#56",
        (
            r"has moved from NotebookApp to ServerApp",
            r"NotebookApp.*(is deprecated|is now ServerApp)",
            r"Unrecognized (alias|flag|config option)",
            r"Config option `\w+` not recognized",
        ),
    ),
    Rule(
        "jupyter_package_conflict",
        "error",
        "Jupyter does not start: a package it needs does not fit",
        "jinja2, markupsafe, traitlets or another of its packages was updated on its own.",
        "`pip install --upgrade jupyterlab notebook nbconvert`, or in old environments "
        "'jinja2<3.1' 'markupsafe<2.1'.",
        "jupyter/nbconvert#1736",
        (
            r"cannot import name '(soft_unicode|escape|contextfilter|environmentfilter"
            r"|Markup)' from '(jinja2|markupsafe)",
            r"cannot import name '\w+' from 'traitlets",
        ),
    ),
    Rule(
        "jupyter_token",
        "error",
        "Jupyter refuses the login",
        "The token is not this server's: another Jupyter answers on the port, the container "
        "was started anew with a new token, or it was copied in part.",
        "Take the URL of this start: `docker logs NAME`, or `docker exec -u user NAME "
        "jupyter-url`; keep it the same with JUPYTER_TOKEN. Look for a Jupyter of the host on "
        "the port.",
        "jupyter/docker-stacks#1035",
        (
            r"(?i)invalid credentials",
            r"\b403 (GET|POST|PUT) /(api|lab|tree|login)",
            r"HTTP 403: Forbidden",
            r"\b401 POST /login",
        ),
    ),
    Rule(
        "tensorboard_port_in_use",
        "error",
        "TensorBoard's port is in use",
        "Another TensorBoard, or Jupyter, has this port.",
        "--port=6007, or end the other one (`kill` its process; in a notebook %tensorboard "
        "reuses it).",
        "tensorflow/tensorboard#1947",
        (r"TensorBoard could not bind to port", r"Port \d+ is in use by another program"),
    ),
    Rule(
        "tensorboard_no_data",
        "warning",
        "TensorBoard shows no dashboards",
        "There are no event files under --logdir as TensorBoard sees it: another path inside "
        "the container, or nothing was written yet.",
        "Give the run's folder: `tensorboard --logdir /workspace/runs`; `find /workspace "
        "-name 'events*'` shows where they are.",
        "TensorBoard README, frequently asked questions",
        (r"No dashboards are active for the current data set", r"No scalar data was found"),
    ),
    Rule(
        "tensorboard_duplicate_plugins",
        "error",
        "TensorBoard does not start: duplicate plugins",
        "Two versions are installed (tensorboard and tb-nightly), or leftovers of one.",
        "`pip uninstall -y tensorboard tb-nightly tensorboard-plugin-wit` and `pip install "
        "tensorboard==2.9.1`.",
        "TensorBoard, diagnose_tensorboard.py",
        (r"Duplicate plugins for name",),
    ),
    Rule(
        "tensorboard_local_only",
        "warning",
        "The browser cannot reach TensorBoard",
        "It listens on localhost inside the container, or its port is not published.",
        "tensorboard --bind_all with -p 127.0.0.1:6006:6006; in this image "
        "SERVICES=jupyter,ssh,tensorboard.",
        "tensorflow/tensorboard#1947",
        (
            r"Serving TensorBoard on localhost; to expose to the network",
            r"localhost refused to connect",
            r"ERR_CONNECTION_REFUSED",
        ),
    ),
    # --- The program: precision.
    Rule(
        "policy_name_unknown",
        "error",
        "The name of a mixed-precision policy is not known",
        "The name is misspelt: the policies are mixed_float16, mixed_bfloat16, and float32.",
        "tf.keras.mixed_precision.set_global_policy('mixed_float16').",
        "TensorFlow guide, Mixed precision",
        (
            r"Cannot convert value .* to a mixed precision",
            r"Cannot interpret .* as a dtype policy",
            r"--policy=\S+: give ",
        ),
    ),
    Rule(
        "policy_experimental_removed",
        "error",
        "mixed_precision has no attribute experimental",
        "The experimental interface of TensorFlow 2.1 to 2.3 is gone in 2.9.",
        "set_global_policy(name) in place of experimental.set_policy(Policy(name)); "
        "LossScaleOptimizer(opt) in place of LossScaleOptimizer(opt, 'dynamic').",
        "TensorFlow 2.4.0 release notes",
        (
            r"mixed_precision' has no attribute '(experimental|set_policy)'",
            r'"dynamic" argument to LossScaleOptimizer',
            r"unexpected keyword argument 'loss_scale'",
            r"has no attribute 'enable_mixed_precision_graph_rewrite'",
            r"No module named '[\w.]*mixed_precision\.experimental",
            r"cannot import name 'experimental' from '[\w.]*mixed_precision",
        ),
    ),
    Rule(
        "loss_scale_optimizer_missing",
        "error",
        "The optimizer has no get_scaled_loss",
        "Only a LossScaleOptimizer has it. In a custom loop nothing wraps the optimizer; only "
        "compile() under mixed_float16 does.",
        "optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer) under "
        "mixed_float16; under float32 and bfloat16 leave scaling out.",
        "TensorFlow guide, Mixed precision, Training the model with a custom training loop",
        (r"has no attribute '(get_scaled_loss|get_unscaled_gradients|scale_loss)'",),
    ),
    Rule(
        "loss_scale_optimizer_twice",
        "error",
        "A LossScaleOptimizer is wrapped in another",
        "The optimizer was wrapped by hand and again; compile() under mixed_float16 wraps it "
        "by itself.",
        "Wrap it once: by hand in a custom loop, not at all before compile().",
        "tf.keras.mixed_precision.LossScaleOptimizer",
        (
            r"LossScaleOptimizer cannot wrap another LossScaleOptimizer",
            r"must not be (a|another) (instance of )?LossScaleOptimizer",
        ),
    ),
    Rule(
        "loss_scale_optimizer_kind",
        "error",
        "LossScaleOptimizer does not take this optimizer, or lacks an attribute of it",
        "It wraps Keras optimizers only; one of Addons, Horovod or TensorFlow 1, or code that "
        "reads the inner optimizer's private attributes, does not go with it.",
        "Wrap the Keras optimizer first, then Horovod's or Addons' around it as its "
        "documentation says; read attributes from optimizer.inner_optimizer.",
        "horovod/horovod#2989",
        (
            r"inner_optimizer.* must be an instance of",
            r'"?opt"? must be an instance of .*[Oo]ptimizer',
            r"'LossScaleOptimizer(V\d)?' object has no attribute",
            r"LossScaleOptimizer.* is not (yet )?supported",
        ),
    ),
    Rule(
        "no_bfloat16_kernel",
        "error",
        "An operation has no bfloat16 kernel on the GPU",
        "TensorFlow 2.9 has bfloat16 kernels for few operations on a GPU, on Ampere too.",
        "Use mixed_float16 on a GPU; mixed_bfloat16 is for CPUs with AMX and for TPUs.",
        "tensorflow/tensorflow#47362",
        (
            r"(No OpKernel|Could not find|No registered).*(DT_BFLOAT16|bfloat16)",
            r"mixed_bfloat16: TensorFlow 2\.9 has no bfloat16 kernels",
        ),
    ),
    Rule(
        "float16_saved_signature",
        "error",
        "A model trained in float16 cannot be saved or loaded as a SavedModel",
        "Its recorded input is float16 where its signature says float32: a subclassed or "
        "nested model casts its input by itself under the mixed policy.",
        "Give the outermost model a float32 tf.keras.Input, or build it again under the "
        "policy float32, set_weights, and save that one; save_weights works as it is.",
        "tensorflow/tensorflow#35379",
        (
            r"incompatible with input_signature.*float16",
            r"No common supertype of TensorSpec.*float16",
            r"Could not find matching (concrete )?function to call.*float16",
        ),
    ),
    Rule(
        "float16_type_mismatch",
        "error",
        "float16 meets float32 in one operation",
        "Under a mixed policy a layer's inputs are float16; a constant, a second input or a "
        "variable of yours stayed float32, or a loss mixes the two.",
        "In the layer cast to its own type: tf.cast(y, x.dtype), or give it dtype='float32'; "
        "make the model's last layer float32; in a loss cast y_pred to float32.",
        "TensorFlow guide, Mixed precision, Building the model",
        (
            r"was expected to be a (half|bfloat16) tensor but is a \w+ tensor",
            r"was expected to be a \w+ tensor but is a (half|bfloat16) tensor",
            r"requested dtype b?float16 for Tensor with dtype",
            r"requested dtype \w+ for Tensor with dtype b?float16",
            r"type (float32|float64) that does not match type b?float16",
            r"type b?float16 that does not match type",
            r"have types \[.*float16.*\] that don't all match",
            r"(expected|must have).*\bfloat16\b.*(got|received|but).*float32",
            r"(expected|must have).*\bfloat32\b.*(got|received|but).*float16",
        ),
    ),
    Rule(
        "type_mismatch",
        "error",
        "Two types meet in one operation",
        "TensorFlow converts no types by itself: NumPy makes float64 and int64, Keras takes "
        "float32.",
        "Cast one of the two: x.astype('float32') for data, tf.cast(x, tf.float32) in a function.",
        "TensorFlow guide, Tensors, DTypes",
        (
            r"was expected to be an? \w+ tensor but is an? \w+ tensor",
            r"requested dtype \w+ for Tensor with dtype \w+",
            r"has type \w+ that does not match (expected )?type",
            r"have types \[.*\] that don't all match",
            r"must have the same dtype",
        ),
    ),
    Rule(
        "nan_under_float16",
        "error",
        "The loss is NaN under mixed_float16",
        "Values leave float16's range (65504), or vanish in it (an epsilon of 1e-8 is 0): a "
        "softmax or loss in float16, a division, a loss that is not scaled; a high learning "
        "rate does it in any precision.",
        "Make the last layer and the softmax float32, take epsilons of 1e-6, scale the loss "
        "(LossScaleOptimizer), lower the learning rate. `audit --model=… --data=…` names the "
        "layers; `train` names the step.",
        "TensorFlow guide, Mixed precision, Loss scaling",
        (
            r"(?i)loss['\"]?[ \t]*(is|[:=])?[ \t]*((tf\.)?tensor\()?\[?(nan|inf)\b",
            r"Invalid loss, terminating training",
            r": (Inf|NaN|Inf and NaN) (or (Inf|NaN) )?(in |found|: Tensor had)",
            r"Tensor had (NaN|Inf)",
            r"(?i)model diverged with loss = nan",
            r"contains (NaN|Inf)",
        ),
        also=(r"(?i)float16|fp16|LossScaleOptimizer|half precision|mixed.precision",),
    ),
    Rule(
        "scale_at_floor_log",
        "error",
        "The loss scale has fallen to 1",
        "Every step's gradients are not finite, so dynamic scaling halves the scale down to "
        "1, where Keras skips all further bad steps.",
        "The values themselves are bad: look for NaN in the data, lower the learning rate, "
        "make the layers near the output float32. More scaling cannot help.",
        "keras-team/keras#16100",
        (
            r"the loss scale is (1|0\.\d+) now",
            r"(?i)(reduc|decreas|lower)\w* (the )?loss scale (from \S+ )?to (1"
            r"|1\.0+|0\.\d+)\b",
        ),
    ),
    Rule(
        "nan_loss",
        "error",
        "The loss is NaN",
        "The training diverged (learning rate too high), a batch holds NaN or infinity, "
        "labels do not fit the outputs, or a logarithm, root or division gets 0.",
        "np.isnan(x).any() on the data and the labels' range first; then a ten times smaller "
        "learning rate, clipnorm=1; tf.debugging.enable_check_numerics() names the operation.",
        "tf.debugging.enable_check_numerics",
        (
            r"(?i)loss['\"]?[ \t]*(is|[:=])?[ \t]*((tf\.)?tensor\()?\[?(nan|inf)\b",
            r"Invalid loss, terminating training",
            r"Tensor had (NaN|Inf)",
            r"(?i)model diverged with loss = nan",
        ),
    ),
    # --- The program: data, labels and shapes.
    Rule(
        "data_is_empty",
        "error",
        "There is no data to train on",
        "The folder has no images of a known format (or no class folders), the data set is "
        "empty, or its batch is larger than all of it and the last one is dropped.",
        "Look at the path inside the container (`ls`), and at len(list(dataset)); a smaller "
        "batch, or no drop_remainder.",
        "tf.keras.utils.image_dataset_from_directory",
        (
            r"Unexpected result of `(train|test|predict)_function` \(Empty [Ll]ogs\)",
            r"No images found in directory",
            r"Found 0 (files|images|validated image)",
            r"Expect x to be a non-empty array or dataset",
            r"asked to retrieve element 0, but the Sequence has length 0",
        ),
    ),
    Rule(
        "label_out_of_range",
        "error",
        "A label does not fit the model's outputs",
        "Labels must count from 0 to the number of outputs less one: they begin at 1, hold -1 "
        "or 255 for nothing, or the last layer has too few units. On a GPU this may show as a "
        "NaN loss alone.",
        "Subtract 1, map the labels, or give the last layer max(label) + 1 units.",
        "tf.nn.sparse_softmax_cross_entropy_with_logits",
        (
            r"Received a label value of -?\d+ which is outside the valid range",
            r"assertion failed: \[.*`?labels`? .*(out of bound|>= 0)",
        ),
    ),
    Rule(
        "labels_and_loss_differ",
        "error",
        "Labels and outputs have incompatible shapes",
        "The loss does not fit the labels: categorical_crossentropy wants one-hot labels, "
        "sparse_categorical_crossentropy integers; or the last layer has another number of "
        "units than there are classes.",
        "Use sparse_categorical_crossentropy for integers, or tf.one_hot; see that the units "
        "of the last layer are the number of classes (1 for binary_crossentropy).",
        "tf.keras.losses.CategoricalCrossentropy",
        (
            r"Shapes \(.*\) and \(.*\) are incompatible",
            r"`?logits`? and `?labels`? must (have|be)",
            r"logits and labels must",
            r"A target array with shape .* was passed for an output of shape",
            r"Shape mismatch: The shape of labels",
        ),
    ),
    Rule(
        "embedding_index",
        "error",
        "An index lies beyond an embedding or a table",
        "An id is as large as the vocabulary or larger, or negative: input_dim of the "
        "Embedding must be the largest id + 1.",
        "Raise input_dim (len(word_index) + 1), or clip the ids.",
        "tf.keras.layers.Embedding",
        (r"indices\[.*\] = -?\d+ is not in \[0, \d+\)",),
    ),
    Rule(
        "input_shape_wrong",
        "error",
        "The input has not the shape that a layer expects",
        "The data misses an axis (batch or channels), has another size than the model was "
        "built for, or channels stand first.",
        "Compare model.input_shape with x.shape; x[None] adds the batch, x[..., None] a channel.",
        "tf.keras.layers.InputSpec",
        (
            r"is incompatible with the layer: expected",
            r"Input \d+ (of|is incompatible with) layer .* (is incompatible|expected)",
            r"Error when checking (input|target|model input)",
            r"expects \d+ input\(s\), but it received",
            r"Cannot feed value of shape",
        ),
    ),
    Rule(
        "image_too_small_for_model",
        "error",
        "A dimension becomes zero or negative",
        "The image is smaller than what the convolutions and poolings take away.",
        "Take larger images, padding='same', or fewer poolings.",
        "tf.keras.layers.Conv2D",
        (
            r"Negative dimension size caused by",
            r"dimensions in the output is <= 0",
            r"Computed output size would be negative",
        ),
    ),
    Rule(
        "shapes_do_not_fit",
        "error",
        "Two tensors have shapes that do not go together",
        "In a layer, loss or metric of the model: sizes differ where they must be equal, "
        "often by the last, smaller batch or an image size that is no multiple of 32.",
        "Print the shapes at the line of yours in the traceback; batch(…, "
        "drop_remainder=True), resize the images, or fix the layer's size.",
        "NumPy documentation, Broadcasting",
        (
            r"Incompatible shapes: \[",
            r"Matrix size-incompatible",
            r"Dimensions must be equal, but are",
            r"ConcatOp : Dimensions of inputs should match",
            r"requires inputs with (the same|matching) shapes",
            r"Cannot reshape a tensor",
            r"Input to reshape is a tensor with",
            r"In\[0\] mismatch In\[1\] shape",
            r"required broadcastable shapes",
            r"Cannot batch tensors with different shapes",
            r"Inputs have incompatible shapes",
            r"must have equal shape|Inputs to operation .* must have the same size and shape",
        ),
    ),
    Rule(
        "data_sizes_differ",
        "error",
        "Inputs and labels have different numbers of examples",
        "x and y, or the inputs of a model with several, are not of the same length.",
        "Compare len(x) and len(y); several inputs go in a list or a dict.",
        "tf.keras.Model.fit",
        (r"Data cardinality is ambiguous", r"Input arrays should have the same number of samples"),
    ),
    Rule(
        "array_of_objects",
        "error",
        "An array cannot become a tensor: its elements are objects",
        "It holds lists of different lengths, strings, None, or columns of mixed types (dtype "
        "object).",
        "np.asarray(x).astype('float32'); pad sequences to one length; convert or drop the "
        "other columns.",
        "tf.convert_to_tensor",
        (
            r"Failed to convert a NumPy array to a Tensor",
            r"setting an array element with a sequence",
            r"Can't convert non-rectangular Python sequence",
            r"Unsupported object type",
        ),
    ),
    Rule(
        "no_data_adapter",
        "error",
        "Keras cannot take this kind of data",
        "x and y are of kinds that do not go together: a list of arrays and an array, or None "
        "where an array is expected.",
        "Convert both with np.asarray, or give a tf.data.Dataset of (x, y).",
        "tf.keras.Model.fit",
        (
            r"Failed to find data adapter that can handle input",
            r"`y` argument is not supported when using",
            r"`validation_split` is only supported for Tensors or NumPy arrays",
        ),
    ),
    Rule(
        "broken_image",
        "error",
        "An image cannot be decoded",
        "A file is empty, broken off, or of another format than its name says (WebP and HEIC "
        "are not read).",
        "Find it: open every file with PIL and verify(), delete or convert what fails; `train "
        "--skip_broken` leaves them out and names them.",
        "tf.io.decode_image",
        (
            r"Unknown image file format",
            r"Expected image \(JPEG, PNG",
            r"(?i)trying to decode \w+ format using a wrong op",
            r"Input is empty\.",
            r"cannot identify image file",
            r"image file is truncated",
            r"Invalid (JPEG|PNG) (data|header)",
            r"jpeg::Uncompress failed",
        ),
    ),
    Rule(
        "broken_record",
        "error",
        "A TFRecord file or a checkpoint is damaged",
        "The file was broken off while it was written or copied, is compressed, or is no such "
        "file.",
        "Copy or write it anew; compression_type='GZIP' for a compressed one; go back to the "
        "checkpoint before.",
        "tf.data.TFRecordDataset",
        (
            r"DataLossError",
            r"DATA_LOSS",
            r"corrupted record at",
            r"truncated record at",
            r"Unable to open table file",
            r"not an sstable",
        ),
    ),
    Rule(
        "generator_failed",
        "error",
        "A Python generator in tf.data failed",
        "The generator raised an error, or gave elements of another type or shape than was "
        "declared.",
        "Run over it by hand (`for x in generator(): pass`), and give output_signature to "
        "from_generator.",
        "tf.data.Dataset.from_generator",
        (r"`generator` yielded an element", r"StopIteration: .*generator", r"in generator_py_func"),
    ),
    Rule(
        "data_ran_out",
        "warning",
        "The training ended early: the input ran out of data",
        "The data set gives fewer batches than steps_per_epoch times epochs.",
        "dataset.repeat(), or leave steps_per_epoch out; with a generator take len(data) // "
        "batch_size.",
        "tf.keras.Model.fit",
        (
            r"[Yy]our (dataset|input|data|generator).{0,20} ran out of data",
            r"OutOfRangeError: +End of sequence",
        ),
    ),
    Rule(
        "data_too_large_for_graph",
        "error",
        "A constant is larger than 2 GB",
        "The whole data set became part of the graph (from_tensor_slices of NumPy arrays "
        "inside a function, or TensorFlow 1 style), whose limit is 2 GB.",
        "Feed it by a generator, TFRecords or tf.data from files; keep such arrays outside "
        "tf.function.",
        "TensorFlow guide, tf.data, Consuming NumPy arrays",
        (
            r"content is larger than 2GB",
            r"GraphDef cannot be larger than 2GB",
            r"exceeded maximum protobuf size of 2GB",
        ),
    ),
    Rule(
        "too_many_open_files",
        "error",
        "Too many open files",
        "The limit of open files is reached: many workers, or files that are not closed.",
        "docker run --ulimit nofile=65536:65536, fewer workers.",
        "Docker documentation, docker container run, --ulimit",
        (r"(?i)too many open files",),
    ),
    # --- The program: models, saving and loading.
    Rule(
        "gpu_settings_too_late",
        "error",
        "GPU settings come after TensorFlow has started",
        "Memory growth and visible or virtual devices must be set before the first operation, "
        "the same for all GPUs; in a notebook an earlier cell has used the GPU.",
        "Set them right after the import, for every GPU in the list, and restart the kernel; "
        "or TF_FORCE_GPU_ALLOW_GROWTH=true.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
        (
            r"(Physical|Virtual|Visible) devices cannot be (modified|configured) after being "
            r"initialized",
            r"Memory growth cannot differ between GPU devices",
            r"Cannot set memory growth on device when virtual devices configured",
            r"cannot be (modified|changed) after (initialization|TensorFlow has started)",
        ),
    ),
    Rule(
        "policy_or_graph_variables",
        "error",
        "A tf.function makes variables on a later call",
        "Layers, optimizers or metrics are created inside a tf.function, or an optimizer "
        "first used on another model.",
        "Create them outside the function, once; make a new function for a new model or optimizer.",
        "TensorFlow guide, Better performance with tf.function, Creating tf.Variables",
        (
            r"tf\.function only supports singleton tf\.Variables",
            r"tried to create variables on non-first call",
            r"The optimizer cannot recognize variable",
        ),
    ),
    Rule(
        "python_control_in_graph",
        "error",
        "A tensor is used as a Python bool, number or loop in a graph",
        "AutoGraph is off for this code (a lambda, a called library, a nested class), so "
        "Python's if, for and while cannot see tensors.",
        "tf.cond, tf.where, tf.while_loop or tf.map_fn; or decorate the function with "
        "@tf.function.",
        "TensorFlow guide, Better performance with tf.function, AutoGraph transformations",
        (
            r"OperatorNotAllowedInGraphError",
            r"as a Python `?bool`? is not allowed",
            r"[Ii]terating over (a symbolic )?`?tf\.Tensor`? is not allowed",
        ),
    ),
    Rule(
        "tensor_has_no_numpy",
        "error",
        "A tensor has no attribute numpy",
        "The code runs inside a graph (map of tf.data, a loss, a metric, a tf.function), "
        "where tensors have no values yet.",
        "Use tf functions, or tf.py_function; run_eagerly=True in compile() to look at values.",
        "tf.py_function",
        (
            r"'(Tensor|KerasTensor|SymbolicTensor)' object has no attribute '(numpy|_numpy)'",
            r"numpy\(\) is only available when eager execution is enabled",
        ),
    ),
    Rule(
        "model_not_compiled",
        "error",
        "The model was not compiled",
        "fit or evaluate is called before compile; a model loaded with compile=False, or a "
        "clone, is not compiled.",
        "model.compile(optimizer, loss).",
        "tf.keras.Model.compile",
        (r"You must compile your model before",),
    ),
    Rule(
        "graph_disconnected",
        "error",
        "The graph is disconnected",
        "An output of the functional model depends on another Input than the ones given, or "
        "on a layer's old input.",
        "Give all inputs to Model(inputs, outputs), and pass the new input through the layers "
        "again.",
        "Keras guide, The Functional API",
        (
            r"Graph disconnected: cannot obtain value",
            r"Output tensors (of a Functional model|to a Model) must be the output of a",
        ),
    ),
    Rule(
        "model_saved_by_keras_3",
        "error",
        "The model was saved by a newer Keras",
        "Keras 3 (TensorFlow 2.16 and newer) wrote it, and Keras 2 cannot read its configuration.",
        "Build the model in code and load_weights, save it there with the package tf_keras or "
        "as a SavedModel, or load it with the version that saved it.",
        "Keras 3, Migrating Keras 2 code to Keras 3",
        (
            r"Unrecognized keyword arguments: \['batch_shape'",
            r"[Kk]eyword argument.* not understood:', '(batch_shape|quantization_config"
            r"|optional)'",
            r"Unknown (layer|object): '?(Functional|DTypePolicy)",
            r"Could not locate class 'DTypePolicy'",
        ),
    ),
    Rule(
        "custom_object_unknown",
        "error",
        "A custom layer, loss or function is not known when loading",
        "The file names it, but its class is not given to load_model.",
        "load_model(path, custom_objects={'MyLayer': MyLayer}), or "
        "@tf.keras.utils.register_keras_serializable(); compile=False where only a loss or "
        "metric is missing.",
        "TensorFlow guide, Save and load Keras models, Custom objects",
        (
            r"Unknown (layer|loss function|metric function|activation function"
            r"|optimizer|initializer|regularizer|object|callback)\b",
            r"Could not locate (class|function) '",
        ),
    ),
    Rule(
        "lambda_layer_not_portable",
        "error",
        "A Lambda layer cannot be loaded: bad marshal data",
        "The Lambda was saved as byte code of another Python version.",
        "Load it with the Python that saved it, or build the model in code and load_weights; "
        "write a layer class in place of the Lambda.",
        "tf.keras.layers.Lambda",
        (r"bad marshal data",),
    ),
    Rule(
        "layer_not_serialisable",
        "error",
        "A model cannot be saved: a layer has no configuration",
        "A custom layer has no get_config that covers its arguments, or a subclassed model "
        "goes to HDF5.",
        "Write get_config, or save as a SavedModel (a folder, no .h5), or save_weights.",
        "TensorFlow guide, Save and load Keras models",
        (
            r"must override `get_config",
            r"Not JSON Serializable",
            r"was passed non-(JSON-)?serializable arguments",
            r"Saving the model to HDF5 format requires",
            r"Model .* cannot be saved (either )?because the input shape",
        ),
    ),
    Rule(
        "weights_do_not_fit",
        "error",
        "The weights do not fit the model",
        "The file is of another model: other layers, another number of classes or another "
        "input shape.",
        "Build the model as it was saved; for another head load_weights(path, by_name=True, "
        "skip_mismatch=True), or include_top=False.",
        "tf.keras.Model.load_weights",
        (
            r"(Layer|Weight) count mismatch",
            r"weight file containing \d+ layers into a model with \d+ layers",
            r"Shape mismatch ?\. ?The variable shape",
            r"incompatible tensor with shape .* when attempting to restore",
            r"axes don't match array",
            r"Tensor's shape .* is not compatible with supplied shape",
            r"expects \d+ weight\(s\), but (it received|the saved weights have)",
        ),
    ),
    Rule(
        "hdf5_file_locked",
        "error",
        "A .h5 file cannot be locked",
        "Another process has it open, or the file system (NFS, a mounted Windows folder) has "
        "no locks.",
        "Close the other one (a notebook's kernel); else HDF5_USE_FILE_LOCKING=FALSE.",
        "HDF5 documentation, File locking",
        (r"unable to lock file",),
    ),
    Rule(
        "model_file_unreadable",
        "error",
        "The model's file cannot be read",
        "It is broken off, a Git LFS pointer or a web page in place of the file, or of "
        "another format (a .keras file is a zip that TensorFlow 2.9 cannot read).",
        "`file PATH` and `ls -l PATH` show what it is; fetch it again (`git lfs pull`); save "
        "as .h5 or SavedModel for 2.9.",
        "tf.keras.models.load_model",
        (
            r"Unable to (synchronously )?open file \(",
            r"file signature not found",
            r"SavedModel file does not exist at",
            r"No file or directory found at",
            r"File format not supported: filepath",
            r"Cannot parse file .*saved_model\.pb",
        ),
    ),
    Rule(
        "no_gradients",
        "error",
        "No variable gets a gradient",
        "The loss does not depend on the weights: a conversion to NumPy, an argmax, round or "
        "cast to integers cuts the path, it was computed outside the tape, or all layers are "
        "frozen.",
        "Compute loss and model inside the GradientTape, with differentiable tf functions.",
        "TensorFlow guide, Introduction to gradients, Getting a gradient of None",
        (r"No gradients provided for any variable",),
    ),
    Rule(
        "uninitialised_variable",
        "error",
        "A variable is not initialised, or gone",
        "It was deleted or made in another session or graph, or (TensorFlow 1 style) its "
        "initialiser was not run; after clear_session old models are gone.",
        "Make the model again after clear_session; in TensorFlow 1 run "
        "global_variables_initializer in the same graph.",
        "tf.compat.v1.global_variables_initializer",
        (
            r"Could not find variable .*(deleted|uninitialized)",
            r"Error while reading resource variable",
            r"Attempting to use uninitialized value",
            r"Container localhost does not exist",
            r"Table not initialized",
        ),
    ),
    Rule(
        "keras_optimizer_changed",
        "error",
        "An optimizer's argument or attribute is gone",
        "TensorFlow 2.11 brought new optimizers: decay, lr and get_updates are gone, and a "
        "model saved with the old ones does not fit.",
        "tf.keras.optimizers.legacy.Adam in 2.11 and newer; learning_rate in place of lr, a "
        "schedule in place of decay. TensorFlow 2.9 has the old ones.",
        "TensorFlow 2.11.0 release notes, Breaking changes",
        (
            r"decay is deprecated in the new Keras optimizer",
            r"(Adam|SGD|RMSprop|Adagrad|Nadam|Adamax|Adadelta|Optimizer)' object has no attri"
            r"bute '(get_updates|lr|_decayed_lr|_create_all_weights|_hyper)'",
            r"[Aa]rgument\(s\) not recognized: \{'(lr|decay)'",
        ),
    ),
    Rule(
        "keras_api_moved",
        "error",
        "A name cannot be imported from Keras",
        "It moved or is gone in this version: to_categorical, Adam, BatchNormalization, "
        "multi_gpu_model and others, or keras and tensorflow.keras are mixed.",
        "Import from tensorflow.keras only (tensorflow.keras.utils.to_categorical, "
        "tensorflow.keras.optimizers.Adam).",
        "TensorFlow 2.6.0 release notes",
        (
            r"cannot import name '\w+' from '(keras|tensorflow\.keras|tensorflow\.python\.ker"
            r"as)",
            r"module '(keras|tensorflow\.keras)[\w.]*' has no attribute",
            r"object has no attribute '(predict_classes|predict_proba|fit_generator)'",
        ),
    ),
    Rule(
        "xla_cannot_compile",
        "error",
        "XLA cannot compile the graph",
        "An operation has no XLA form on this device: strings, dynamic shapes, cuDNN's RNNs, "
        "printing, some image operations.",
        "jit_compile=False (train: leave out --jit_compile), or compile only the part that can be.",
        "XLA documentation, Known issues",
        (
            r"Detected unsupported operations when trying to compile graph",
            r"is not compilable",
            r"XLA compilation requires",
            r"must be a compile-time constant",
        ),
    ),
    Rule(
        "determinism_refused",
        "error",
        "An operation has no deterministic form",
        "Op determinism is on, and this operation has none on this device, or needs a seed.",
        "tf.keras.utils.set_random_seed(0) before; else leave determinism out (train: "
        "--deterministic).",
        "tf.config.experimental.enable_op_determinism",
        (
            r"(?i)when (op-)?determinism is enabled",
            r"(?i)determinism is not yet supported",
            r"(?i)deterministic .* not (yet )?(available|implemented|supported)",
            r"TF_DETERMINISTIC_OPS",
        ),
    ),
    Rule(
        "permission_denied",
        "error",
        "A file or folder may not be written",
        "It belongs to another user (a mounted folder keeps the host's owner, and the program "
        "runs as another one), or a script lacks the mode to be executed.",
        'This image: -e PUID="$(id -u)" -e PGID="$(id -g)"; else docker run --user "$(id '
        '-u):$(id -g)", or chown the folder on the host.',
        "Docker documentation, Bind mounts",
        (
            r"PermissionError: \[Errno 13\]",
            r"\[WinError 5\] Access is denied",
            r"(?i)errors_impl\.PermissionDeniedError",
            r": Permission denied$",
            r"cannot write to .*, which is user \d+'s",
            r"Permission denied: '/",
        ),
    ),
    Rule(
        "read_only",
        "error",
        "The file system is read-only",
        "The container runs with --read-only, or the volume is mounted with :ro.",
        "Mount a volume where it writes (/workspace), and a tmpfs on /tmp.",
        "Docker documentation, docker container run, --read-only",
        (r"(?i)read-only file system",),
    ),
    Rule(
        "file_missing",
        "error",
        "A file or folder is not there",
        "The path is one of the host and not of the container, is relative to another working "
        "directory, or was never made.",
        'Mount the folder (-v "$PWD":/workspace) and use the path inside; print os.getcwd().',
        "Docker documentation, Bind mounts",
        (
            r"FileNotFoundError: \[Errno 2\]",
            r"errors_impl\.NotFoundError: .*No such file or directory",
            r"can't open file '[^']*': \[Errno 2\]",
        ),
    ),
    # --- The driver.
    Rule(
        "nvml_lost_in_container",
        "error",
        "Failed to initialize NVML: Unknown Error, in a container that had a GPU",
        "systemd reloaded its units on the host (an update, daemon-reload), and the container "
        "lost its rights to the GPU's devices.",
        'Start the container anew. For good: Docker with cgroupfs ("exec-opts": '
        '["native.cgroupdriver=cgroupfs"]), or pass the devices with --device, or `nvidia-ctk '
        "system create-dev-char-symlinks`.",
        "NVIDIA/nvidia-container-toolkit#48",
        (r"Failed to initialize NVML: (Unknown Error|Insufficient Permissions)",),
    ),
    Rule(
        "cuda_compat_on_path",
        "error",
        "CUDA error 804: forward compatibility on hardware that has none",
        "CUDA's compat libraries are found before the driver's: they work on data-centre GPUs "
        "only, with a driver older than they are.",
        "Take /usr/local/cuda/compat off LD_LIBRARY_PATH and /etc/ld.so.conf.d, run ldconfig, "
        "remove the package cuda-compat from the host; or update the driver.",
        "NVIDIA/nvidia-docker#1294",
        (
            r"COMPAT_NOT_SUPPORTED_ON_DEVICE",
            r"forward compatibility was attempted on non supported HW",
            r"\berror 804\b",
        ),
    ),
    Rule(
        "libcuda_and_module_differ",
        "error",
        "CUDA error 803: libcuda and the driver do not go together",
        "libcuda.so.1 in the container is of another version than the kernel module: copied "
        "into the image, or mounted from an old installation.",
        "Delete libcuda.so.* from the image and leave it to the toolkit to mount; reboot the "
        "host after an update of the driver.",
        "CUDA Driver API, CUresult",
        (
            r"SYSTEM_DRIVER_MISMATCH",
            r"\berror 803\b",
            r"unsupported display driver / cuda driver combination",
            # Two lines, one after the other, that name two versions.
            r"libcuda reported version is: ([\d.]+)$\n.*kernel reported version is: (?!\1$)[\d.]+",
        ),
    ),
    Rule(
        "fabric_manager_missing",
        "error",
        "CUDA error 802: system not yet initialised",
        "This machine has NVSwitch (A100, H100, H200 on HGX boards), and the Fabric Manager "
        "does not run, or not in the driver's version.",
        "`sudo apt-get install nvidia-fabricmanager-XXX` of exactly the driver's version, "
        "`sudo systemctl enable --now nvidia-fabricmanager`.",
        "NVIDIA Fabric Manager User Guide",
        (r"SYSTEM_NOT_READY", r"(?i)system not yet initialized", r"\berror \(?802\b"),
    ),
    Rule(
        "driver_too_old_for_cuda",
        "error",
        "The driver is too old for this CUDA",
        "The host's driver is older than the CUDA runtime that TensorFlow brings; CUDA 11.2 "
        "needs 460.27.03 (450.80.02 by minor-version compatibility).",
        "Update the driver on the host; the CUDA toolkit of the host does not matter.",
        "CUDA Compatibility, Minor Version Compatibility",
        (
            r"driver version is insufficient for CUDA runtime version",
            r"INSUFFICIENT_DRIVER",
            r"UNSUPPORTED_PTX_VERSION",
            r"PTX was compiled with an unsupported toolchain",
            r"CUDA_ERROR_INVALID_PTX",
        ),
    ),
    Rule(
        "gpu_lost",
        "error",
        "The GPU has fallen off the bus",
        "The hardware stopped answering: heat, power supply, a riser or slot, or a driver "
        "fault (Xid 79).",
        "Power the machine off and on; see `dmesg | grep -i xid`, temperature and power; "
        "update driver and firmware. If it comes back, the card or its supply is faulty.",
        "NVIDIA, XID Errors",
        (
            r"fallen off the bus",
            r"GPU is lost",
            r"Unable to determine the device handle for (GPU|gpu)",
            r"NVRM: Xid \(PCI:[^)]*\): (79|48|62|63|64|74|119|120)\b",
            r"RmInitAdapter failed",
        ),
    ),
    Rule(
        "gpu_memory_faulty",
        "error",
        "The GPU's memory has an uncorrectable error",
        "ECC found a fault in the card's memory.",
        "`nvidia-smi -q -d ECC`; reboot, or `nvidia-smi --gpu-reset` while nothing runs; if "
        "it comes back, have the card replaced.",
        "NVIDIA GPU Memory Error Management",
        (r"ECC_UNCORRECTABLE", r"(?i)uncorrectable ECC error"),
    ),
    Rule(
        "gpu_busy_exclusive",
        "error",
        "The GPU is busy or unavailable",
        "It is in exclusive mode and another process has it, or it is in an error state.",
        "`nvidia-smi -q -d COMPUTE` and `nvidia-smi`: end the other process, or `sudo "
        "nvidia-smi -c DEFAULT`; restart the machine if nothing uses it.",
        "CUDA Driver API, CUresult",
        (
            r"DEVICE_UNAVAILABLE",
            r"devices?(\(s\))? (is/are|are|is) busy or unavailable",
            r"DEVICE_ALREADY_IN_USE",
            r"exclusive-(thread|process) (mode|device)",
        ),
    ),
    Rule(
        "cuda_after_fork",
        "error",
        "CUDA is not initialised in a child process",
        "The process was forked after TensorFlow had used the GPU: CUDA does not survive a fork.",
        "multiprocessing.set_start_method('spawn') at the start, import TensorFlow in the "
        "children only, and no GPU operations in a loader with use_multiprocessing.",
        "tensorflow/tensorflow#57877",
        (r"CUDA_ERROR_NOT_INITIALIZED", r"Cannot re-initialize CUDA in forked subprocess"),
    ),
    Rule(
        "device_number_wrong",
        "error",
        "A GPU's number does not exist",
        "CUDA_VISIBLE_DEVICES, a rank or tf.device names a GPU that this process does not "
        "see; with MIG a process sees one instance only.",
        "`nvidia-smi -L`; numbers count from 0 within CUDA_VISIBLE_DEVICES; one process for "
        "each GPU or MIG instance.",
        "horovod/horovod#1056",
        (
            r"CUDA_ERROR_INVALID_DEVICE",
            r"invalid device ordinal",
            r"no supported devices found for platform CUDA",
            r"Invalid 'visible_device_list'",
        ),
    ),
    Rule(
        "cuda_unknown_error",
        "error",
        "cuInit: CUDA_ERROR_UNKNOWN",
        "The driver's module nvidia_uvm is not loaded, its devices cannot be opened, or the "
        "driver is stuck: after suspend, or after an update without a reboot.",
        "`sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm` (or `nvidia-modprobe -u "
        "-c=0`) on the host, else reboot; then start the container anew.",
        "tensorflow/tensorflow#41937",
        (
            r"failed call to cuInit: CUDA_ERROR_UNKNOWN",
            r"cuInit.*CUDA_ERROR_UNKNOWN",
            r"failed call to cuInit: CUDA_ERROR_OPERATING_SYSTEM",
            r"CUDA unknown error - this may be due to",
        ),
    ),
    Rule(
        "gpu_not_in_container",
        "error",
        "The process sees no NVIDIA driver",
        "The container was started without --gpus all (or during docker build), or the host "
        "has no NVIDIA driver: libcuda is missing or only a stub.",
        "docker run --gpus all …, where nvidia-smi works on the host; without a GPU all of it "
        "runs on the CPU, and these lines do no harm.",
        "tensorflow/tensorflow#41785",
        (
            r"kernel driver does not appear to be running on this host",
            r"The NVIDIA Driver was not detected",
            r"/proc/driver/nvidia/version does not exist",
            r"no NVIDIA GPU device is present",
            r"failed call to cuInit: (UNKNOWN ERROR|CUresult)\(? ?\(?-?\d+\)?",
            r"Could not load dynamic library 'libcuda\.so\.1'",
            r"libcuda\.so\.1: cannot open shared object",
            r"CUDA_ERROR_STUB_LIBRARY",
            r"CUDA driver is a stub library",
            r"libcuda reported version is: (Not found|NOT_FOUND)",
            r"Could not find cuda drivers on your machine",
        ),
    ),
    Rule(
        "no_cuda_device",
        "error",
        "CUDA finds no device, though there is a driver",
        "CUDA_VISIBLE_DEVICES hides the GPUs (empty, -1, or a number that does not exist), or "
        "NVIDIA_VISIBLE_DEVICES gives the container none, or the driver does not support the "
        "card.",
        "`echo $CUDA_VISIBLE_DEVICES` and unset it; compare nvidia-smi inside and outside; a "
        "laptop's GPU may be switched off (prime-select nvidia).",
        "CUDA C++ Programming Guide, CUDA Environment Variables",
        (
            r"CUDA_ERROR_NO_DEVICE",
            r"no CUDA-capable device is detected",
            r"^No devices were found$",
        ),
    ),
    # --- CUDA's libraries and the card.
    Rule(
        "gpu_too_old",
        "error",
        "TensorFlow ignores the GPU: its compute capability is too low",
        "The card is older than what this TensorFlow has code for (3.5 in 2.9; other builds "
        "ask for more).",
        "Use another card, or build TensorFlow for it; on the CPU all of it runs.",
        "TensorFlow, GPU guide, Hardware requirements",
        (
            r"minimum required Cuda capability is",
            r"Ignoring visible gpu device .*compute capability",
        ),
    ),
    Rule(
        "no_code_for_this_gpu",
        "error",
        "The GPU cannot run this TensorFlow's kernels: kernel image invalid or missing",
        "TensorFlow and its CUDA are older than the card: RTX 30 and A100 need CUDA 11 "
        "(TensorFlow 2.4 or newer), RTX 40 and H100 run 2.9 from PTX only, RTX 50 needs a far "
        "newer one.",
        "Use TensorFlow 2.5 or newer with CUDA 11.2 (this image); for Blackwell cards a "
        "current TensorFlow.",
        "tensorflow/tensorflow#43718",
        (
            r"device kernel image is invalid",
            r"no kernel image is available for execution",
            r"NO_BINARY_FOR_GPU",
        ),
    ),
    Rule(
        "tensorflow_without_cuda",
        "error",
        "This TensorFlow was built without CUDA",
        "The package is tensorflow-cpu, one from conda without GPU, for macOS, or 2.11 and "
        "newer in Windows.",
        "`pip uninstall tensorflow tensorflow-cpu intel-tensorflow` and `pip install "
        "tensorflow==2.9.1`; tf.test.is_built_with_cuda() must be True.",
        "tf.test.is_built_with_cuda",
        (
            r"not built with CUDA support",
            r"(?i)is_built_with_cuda\(\)\)?\W+False",
            r"Built with CUDA: False",
            r"(?i)tensorflow (is|was) not (built|compiled) with (CUDA|GPU)(?! kernel)",
        ),
    ),
    Rule(
        "cudart_missing",
        "error",
        "libcudart cannot be loaded",
        "CUDA is not installed, not of the version in the file's name, or not on "
        "LD_LIBRARY_PATH; a TensorFlow from pip brings no CUDA before 2.14's [and-cuda].",
        "Use this image with --gpus all; or install that CUDA (11.2 for 2.9; `conda install "
        "cudatoolkit=11.2 cudnn=8.1`) and put its lib64 on LD_LIBRARY_PATH. Without a GPU the "
        "line does no harm.",
        "TensorFlow, Build from source, tested build configurations",
        (
            r"Could not load dynamic library 'libcudart\.so",
            r"libcudart\.so[.\d]*: cannot open shared object",
        ),
    ),
    Rule(
        "cuda_library_missing",
        "error",
        "A CUDA library cannot be loaded",
        "CUDA is there in part, or in another version than the number in the file's name "
        "(libcusolver.so.11 is CUDA 11.1 and newer).",
        "Install the CUDA that this TensorFlow was built with (11.2 for 2.9), whole, and put "
        "it first on LD_LIBRARY_PATH.",
        "TensorFlow, Build from source, tested build configurations",
        (
            r"Could not load dynamic library 'lib(cublas|cublasLt|cufft|curand"
            r"|cusolver|cusparse)\.so",
            r"lib(cublas|cublasLt|cufft|curand|cusolver|cusparse)\.so[.\d]*: cannot open shar"
            r"ed object",
        ),
    ),
    Rule(
        "cudnn_missing",
        "error",
        "cuDNN cannot be loaded",
        "cuDNN is not installed, not of the version in the file's name, or not on "
        "LD_LIBRARY_PATH; TensorFlow leaves the GPU unused.",
        "Install cuDNN 8.1 for CUDA 11.2 (`pip install nvidia-cudnn-cu11==8.6.0.163`, conda, "
        "or the archive) and put its folder on LD_LIBRARY_PATH; this image has it.",
        "tensorflow/tensorflow#45200",
        (
            r"Could not load dynamic library 'libcudnn\.so",
            r"libcudnn\.so[.\d]*: cannot open shared object",
        ),
    ),
    Rule(
        "cudnn_parts_missing",
        "error",
        "A part of cuDNN cannot be loaded",
        "libcudnn.so.8 is there, but its parts (libcudnn_cnn_infer and others), or libcuda.so "
        "or libnvrtc that they ask for, are not on the linker's path; in WSL libcuda.so is in "
        "/usr/lib/wsl/lib.",
        "Put cuDNN's folder on LD_LIBRARY_PATH; in WSL add /usr/lib/wsl/lib there; for "
        "libnvrtc link libnvrtc.so to the file with its number.",
        "tensorflow/tensorflow#45882",
        (
            r"Could not load library libcudnn\w*\.so",
            r"Unable to load any of \{libcudnn",
            r"Could not load symbol cudnn",
        ),
    ),
    Rule(
        "cudnn_version_differs",
        "error",
        "The cuDNN that is loaded is older than the one TensorFlow was built with",
        "Another cuDNN comes first on the library path: of the system, conda, or pulled in by "
        "PyTorch.",
        "Install the version it names (8.1 for TensorFlow 2.9) or a newer one of the same "
        "major, first on LD_LIBRARY_PATH; `ldconfig -p | grep cudnn` and `pip list | grep "
        "cudnn` show the others. Restart the notebook's kernel.",
        "tensorflow/tensorflow#60913",
        (
            r"Loaded runtime CuDNN library: .* but source was compiled with",
            r"CUDNN_STATUS_VERSION_MISMATCH",
        ),
    ),
    Rule(
        "libdevice_missing",
        "error",
        "XLA finds no libdevice",
        "XLA needs libdevice.10.bc and ptxas of the CUDA toolkit, which a runtime image or "
        "pip does not bring; TensorFlow 2.11's optimizers use XLA by themselves.",
        "Leave jit_compile out, or in 2.11 and newer use tf.keras.optimizers.legacy; else "
        "install cuda-nvcc and set "
        "XLA_FLAGS=--xla_gpu_cuda_data_dir=/path/with/nvvm/libdevice.",
        "tensorflow/tensorflow#58681",
        (
            r"Can't find libdevice directory",
            r"libdevice (is required by this HLO module but was )?not found",
            r"libdevice\.10\.bc",
        ),
    ),
    Rule(
        "ptxas_too_old",
        "warning",
        "ptxas does not know this GPU",
        "A ptxas of an older CUDA is on the PATH: 11.0 knows no sm_86, 11.2 no sm_89 or sm_90.",
        "Take it off the PATH (the driver then compiles by itself), or install a newer CUDA's "
        "ptxas.",
        "tensorflow/tensorflow#45590",
        (
            r"Value 'sm_\d+' is not defined for option",
            r"ptxas exited with non-zero error code",
            r"ptxas fatal",
        ),
    ),
    Rule(
        "jit_compilation_failed",
        "error",
        "JIT compilation of a kernel failed",
        "TensorFlow makes some kernels at run time, and could not: no libdevice or ptxas that "
        "fits, or no writable cache.",
        "See the lines above it; a CUDA toolkit on the PATH that fits the card, or an older "
        "numeric type for the operation.",
        "conda-forge/tensorflow-feedstock#369",
        (r"JIT compilation failed",),
    ),
    Rule(
        "ptx_jit",
        "warning",
        "The first start takes many minutes: kernels are compiled from PTX",
        "TensorFlow has no machine code for this card (8.6 and newer run 2.9 from "
        "compute_80's PTX), so the driver compiles it, and again each time if its cache is "
        "too small or not kept.",
        "CUDA_CACHE_MAXSIZE=2147483648 and CUDA_CACHE_PATH on a volume (this image sets both, "
        "the volume is yours to mount at /var/cache/cuda); then only the first start is slow.",
        "tensorflow/tensorflow#60739",
        (
            r"jit-compiled from PTX",
            r"not built with CUDA kernel binaries compatible with compute capability",
            r"could take 30 minutes or longer",
        ),
    ),
    Rule(
        "cupti_not_permitted",
        "warning",
        "The profiler gets no GPU data: insufficient privileges",
        "Only root may read the GPU's counters unless the driver is told otherwise.",
        "On the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
        "/etc/modprobe.d, reboot; or docker run --cap-add SYS_ADMIN.",
        "TensorFlow, Profiler guide, Install the Profiler and GPU prerequisites",
        (
            r"CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
            r"CUPTI_ERROR_NOT_INITIALIZED",
            r"Could not load dynamic library 'libcupti",
        ),
    ),
    # --- The GPU's memory, then the machine's.
    Rule(
        "gpu_memory_held_by_others",
        "error",
        "Almost nothing of the GPU's memory was left for TensorFlow",
        "Another process holds it: a notebook's kernel that still lives, another training, a "
        "zombie of an earlier run.",
        "`nvidia-smi` lists who; shut that kernel down (restart is not enough for another "
        "notebook), kill the process; TF_FORCE_GPU_ALLOW_GROWTH=true lets several share a "
        "card.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
        (r"Created (TensorFlow )?device .*GPU:\d+ with \d{1,3} MB memory",),
    ),
    Rule(
        "gpu_memory_taken",
        "error",
        "TensorFlow could not get the GPU's memory from the driver",
        "The memory is taken: by another process on the card (TensorFlow takes nearly all of "
        "it at once), or by this one's own model.",
        "`nvidia-smi`: end the other processes, shut down notebooks' kernels; "
        "TF_FORCE_GPU_ALLOW_GROWTH=true to share; if nobody else is there, a smaller batch.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
        (
            r"failed to (allocate|alloc) .*from device: CUDA_ERROR_OUT_OF_MEMORY",
            r"cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY",
            r"cuCtxCreate.*OUT_OF_MEMORY",
        ),
    ),
    Rule(
        "pinned_memory_failed",
        "error",
        "Pinned memory of the host cannot be allocated",
        "The machine's memory is nearly used up, or a limit (ulimit -l, the container's "
        "--memory) forbids to pin more.",
        "Smaller shuffle buffers and prefetching, a higher --memory, --ulimit memlock=-1.",
        "CUDA Driver API, cuMemHostAlloc",
        (
            r"could not allocate pinned host memory",
            r"failed to alloc(ate)? .*on host: CUDA_ERROR",
            r"could not register host memory",
        ),
    ),
    Rule(
        "data_too_large_for_gpu",
        "error",
        "Dst tensor is not initialized",
        "The GPU's memory ran out while data was copied to it: the whole data set as one "
        "array, or too large a batch.",
        "A smaller batch, or tf.data so that batches come one by one (with tf.device('CPU:0') "
        "around arrays); end other processes on the card.",
        "tensorflow/tensorflow#7025",
        (r"Dst tensor is not initialized",),
    ),
    Rule(
        "gpu_out_of_memory",
        "error",
        "The GPU's memory is used up (OOM)",
        "Model, activations and optimizer of one batch need more than the card has free.",
        "A smaller batch (train: --batch_size with --accumulate_steps for the same step), "
        "mixed_float16, smaller images; see with nvidia-smi that no other process is on the "
        "card.",
        "TensorFlow, GPU guide, Limiting GPU memory growth",
        (
            r"OOM when allocating tensor(?!.*device:CPU)",
            r"ran out of memory trying to allocate (?!.*not a failure)",
            r"(?i)RESOURCE_EXHAUSTED: .*(out of memory|failed to allocate|OOM)",
            r"Out of memory while trying to allocate",
            r"CUDA_ERROR_OUT_OF_MEMORY",
        ),
    ),
    Rule(
        "cudnn_handle_failed",
        "error",
        "cuDNN cannot be initialised",
        "Mostly the GPU's memory is full when cuDNN asks for some: TensorFlow took it all, or "
        "another process has it. Else cuDNN, driver and CUDA do not go together.",
        "TF_FORCE_GPU_ALLOW_GROWTH=true (set_memory_growth), end other processes on the card; "
        "then see whether the driver is new enough for this CUDA.",
        "tensorflow/tensorflow#24496",
        (
            r"Could not create cudnn handle",
            r"CUDNN_STATUS_(NOT_INITIALIZED|INTERNAL_ERROR|ALLOC_FAILED)",
            r"DNN library initialization failed",
        ),
    ),
    Rule(
        "cublas_handle_failed",
        "error",
        "cuBLAS cannot be initialised, or a matrix product cannot start",
        "Mostly the GPU's memory is full: TensorFlow took all of it, or another process has "
        "it. On RTX 30 and newer with TensorFlow 2.3 or older, CUDA 10 does not know the card.",
        "TF_FORCE_GPU_ALLOW_GROWTH=true, end other processes on the card (nvidia-smi), "
        "restart the kernel; for new cards TensorFlow 2.5 or newer.",
        "tensorflow/tensorflow#9489",
        (
            r"failed to create cublas handle",
            r"CUBLAS_STATUS_(NOT_INITIALIZED|ALLOC_FAILED|INTERNAL_ERROR)",
            r"Blas (xGEMM|GEMM|SGEMM|GEMV|xGEMV)\w* launch failed",
            r"without BLAS support",
            r"Failed to create cuSolverDN instance",
            r"CUSOLVER_STATUS_(NOT_INITIALIZED|ALLOC_FAILED|INTERNAL_ERROR)",
            r"CUFFT_(ALLOC_FAILED|INTERNAL_ERROR)|Failed to create cuFFT",
        ),
    ),
    Rule(
        "no_convolution_algorithm",
        "error",
        "No algorithm for a convolution works",
        "cuDNN could not start, mostly for want of GPU memory; else it does not fit the CUDA, "
        "the driver or the card, or the convolution itself is of a kind it refuses.",
        "TF_FORCE_GPU_ALLOW_GROWTH=true and a smaller batch first; then read the lines above "
        "it about cuDNN.",
        "tensorflow/tensorflow#24828",
        (
            r"Failed to get convolution algorithm",
            r"No algorithm worked!",
            r"DNN library is not found",
            r"cuDNN launch failure",
            r"CUDNN_STATUS_(EXECUTION_FAILED|MAPPING_ERROR|ARCH_MISMATCH)",
        ),
    ),
    Rule(
        "host_out_of_memory",
        "error",
        "The machine's memory is used up",
        "An array or a buffer is larger than the free memory: the whole data set, a large "
        "shuffle buffer, one-hot labels, float64 copies.",
        "Read the data in parts (tf.data, np.load(mmap_mode='r')), keep uint8 or float32, a "
        "smaller shuffle buffer.",
        "NumPy documentation, numpy.memmap",
        (
            r"MemoryError",
            r"Unable to allocate .* for an array",
            r"std::bad_alloc",
            r"[Cc]annot allocate memory",
            r"OOM when allocating tensor .*CPU:0",
        ),
    ),
    # --- The GPU at work.
    Rule(
        "illegal_address",
        "error",
        "A kernel on the GPU read or wrote a wrong address",
        "A fault in a kernel: an index that the GPU does not check, a bug of this TensorFlow, "
        "cuDNN or driver, an overclocked or faulty card. What runs after it is a consequence.",
        "Run once on the CPU (CUDA_VISIBLE_DEVICES=-1), where a wrong index is named; then "
        "another driver, no jit_compile, normal clocks.",
        "tensorflow/tensorflow#46247",
        (
            r"CUDA_ERROR_ILLEGAL_ADDRESS",
            r"illegal memory access was encountered",
            r"CUDA_ERROR_MISALIGNED_ADDRESS",
            r"CUDA_ERROR_ILLEGAL_INSTRUCTION",
        ),
    ),
    Rule(
        "launch_timed_out",
        "error",
        "The GPU's watchdog ended a kernel",
        "The card drives a display, and a kernel took longer than the watchdog allows (2 "
        "seconds in Windows).",
        "A smaller batch, a card without a display, or in Windows a higher TdrDelay.",
        "Microsoft, Timeout detection and recovery (TDR) registry keys",
        (r"CUDA_ERROR_LAUNCH_TIMEOUT", r"launch timed out and was terminated"),
    ),
    Rule(
        "launch_failed",
        "error",
        "A kernel on the GPU failed (unspecified launch failure)",
        "A fault in a kernel or of the hardware: with LSTM or GRU often padded sequences of "
        "length 0 in cuDNN; else memory, driver, heat, or Windows' display watchdog.",
        "No empty or left-padded sequences into a masked cuDNN RNN (recurrent_dropout=0.01 "
        "avoids cuDNN), a smaller batch, another driver, normal clocks; "
        "TF_FORCE_GPU_ALLOW_GROWTH=true.",
        "tensorflow/tensorflow#42608",
        (
            r"CUDA_ERROR_LAUNCH_FAILED",
            r"unspecified launch failure",
            r"CUDNN_STATUS_BAD_PARAM",
            r"Failed to call (ThenRnn|DoRnn)\w+",
        ),
    ),
    # --- Several workers.
    Rule(
        "nccl_no_interface",
        "error",
        "NCCL finds no network interface",
        "The name in NCCL_SOCKET_IFNAME is not this machine's, or the container has no "
        "interface but lo.",
        "`ip addr` and NCCL_SOCKET_IFNAME=eth0 (or ^docker0,lo), on every worker; "
        "--network=host between machines.",
        "NCCL documentation, Environment Variables",
        (r"no socket interface found", r"Bootstrap : no socket"),
    ),
    Rule(
        "tf_config_wrong",
        "error",
        "TF_CONFIG does not describe this worker",
        "It is no valid JSON, or its task (type, index) is not in its cluster, or it was set "
        "after TensorFlow had started.",
        'TF_CONFIG={"cluster": {"worker": ["host1:2222", "host2:2222"]}, "task": {"type": '
        '"worker", "index": 0}}, the same list for all, each its index, before the program '
        "starts.",
        "TensorFlow tutorial, Multi-worker training with Keras",
        (
            r"is not a valid task_(type|id)",
            r"task_(type|id|index)\W.*(not in|must be|out of range|is not)",
            r"[Cc]ollective ops must be configured at program startup",
            r"The `?task_id`? .* exceeds the maximum id",
        ),
    ),
    Rule(
        "grpc_server_failed",
        "error",
        "A worker cannot start its server",
        "Its own address in the cluster is taken (an earlier worker still runs), or is not "
        "this machine's.",
        "End the earlier process, choose another port, and put this machine's own name into "
        "the list.",
        "tf.distribute.Server",
        (
            r"Could not start gRPC server",
            r"Failed to (add|bind).*port.*(server|address)",
            r"Server.*Address already in use",
        ),
    ),
    Rule(
        "nccl_infiniband",
        "error",
        "NCCL cannot use InfiniBand",
        "The container may not pin the memory that InfiniBand needs (ulimit -l), or does not have "
        "its devices.",
        "docker run --ulimit memlock=-1 --device=/dev/infiniband --cap-add IPC_LOCK; or do "
        "without it: NCCL_IB_DISABLE=1.",
        "tensorflow/tensorflow#51760",
        (r"Call to ibv_\w+ failed",),
    ),
    Rule(
        "nccl_failed",
        "error",
        "NCCL failed between the GPUs",
        "Mostly too little /dev/shm in a container, or GPUs that cannot reach one another "
        "(IOMMU, virtualisation); else a driver older than NCCL's CUDA.",
        "--shm-size=1g --ulimit memlock=-1; NCCL_DEBUG=INFO says more; NCCL_P2P_DISABLE=1 as "
        "a test; HierarchicalCopyAllReduce does without NCCL.",
        "tensorflow/tensorflow#44637",
        (
            r"NCCL:? ?(Error \d: )?[Uu]nhandled (system|cuda) error",
            r"nccl(System|UnhandledCuda|Internal)Error",
            r"[Uu]nhandled system error",
            r"ncclCommInitRank failed",
            r"NCCL WARN (?!Failed to open libibverbs)",
        ),
    ),
    Rule(
        "collective_shapes_differ",
        "error",
        "The workers do not do the same collective",
        "They run different models, batch sizes or numbers of steps.",
        "The same program, data shapes and steps_per_epoch on all; drop_remainder=True.",
        "TensorFlow tutorial, Multi-worker training with Keras",
        (
            r"Shape mismatch in the collective instance",
            r"is joining a group with size \d+, but that group has size",
            r"[Ii]nconsistent (sizes|group|collective)",
            r"Collective instance .* expected .* but got",
        ),
    ),
    Rule(
        "worker_lost",
        "error",
        "A worker has lost another one",
        "That one ended or was killed (its own log says why: memory, preemption, an error), "
        "or the network between them broke. What this worker prints is a consequence.",
        "Read the log of the worker that ended first; restart all of them, they go on from "
        "the last checkpoint (BackupAndRestore).",
        "tensorflow/tensorflow#42498",
        (
            r"[Cc]ollective ops (is|are) aborted",
            r"Socket closed",
            r"Connection reset by peer.*(grpc|worker|recv)",
            r"(UNAVAILABLE|UnavailableError|Unavailable): ",
            r"failed to connect to all addresses",
            r"Fallback .*health check",
        ),
    ),
    Rule(
        "worker_waited",
        "error",
        "A worker waited too long for the others",
        "Not all workers started, a name or port in the cluster is wrong, or a firewall is "
        "between them.",
        "Start all of them, `nc -vz HOST PORT` from each to each; the same order of hosts in "
        "every TF_CONFIG.",
        "TensorFlow tutorial, Multi-worker training with Keras",
        (
            r"DEADLINE_EXCEEDED",
            r"Deadline Exceeded",
            r"DeadlineExceededError",
            r"CreateSession still waiting for response from worker",
            r"Barrier timed out",
        ),
    ),
    # --- What follows from something else: the general symptom, last.
    Rule(
        "cpu_only_layout",
        "error",
        "An operation exists in this form on a GPU only",
        "TensorFlow runs on the CPU, where channels_first (NCHW), cuDNN's layers or grouped "
        "convolutions have no kernel: the GPU was meant and is not used.",
        "Find out why the GPU is not used (doctor without --log); on a CPU use channels_last "
        "and the ordinary layers.",
        "tf.keras.layers.Conv2D, data_format",
        (
            r"only supports (the )?NHWC",
            r"Fused conv implementation does not support grouped",
            r"No OpKernel was registered to support Op '(CudnnRNN\w*|NcclAllReduce)'",
            r"MaxPooling op only supports NHWC",
            r"Could not find device for node: .*Cudnn",
        ),
    ),
    Rule(
        "gpu_not_registered",
        "error",
        "A device GPU is asked for, and TensorFlow has none",
        "TensorFlow did not register the GPU: see its start-up lines about libraries or the "
        "driver, CUDA_VISIBLE_DEVICES, or --gpus.",
        "tf.config.list_physical_devices('GPU') must not be empty: run doctor (without --log) "
        "in this container; set_soft_device_placement(True) lets it go on on the CPU.",
        "TensorFlow, GPU guide",
        (
            r"Could not satisfy (explicit )?device specification.*GPU",
            r"Cannot assign a device for operation",
            r"/device:GPU:\d+ unknown device",
            r"Selected devices that are not visible",
        ),
    ),
    Rule(
        "gpu_libraries_skipped",
        "error",
        "TensorFlow leaves the GPU out: some GPU libraries cannot be opened",
        "A library of CUDA or cuDNN is missing or of another version; newer TensorFlow does "
        "not say which.",
        "TF_CPP_MAX_VLOG_LEVEL=1 names it (dso_loader). `pip install tensorflow[and-cuda]` "
        "for 2.14 and newer; CUDA 11.2 and cuDNN 8.1 for 2.9.",
        "tensorflow/tensorflow#62994",
        (r"Cannot dlopen some GPU libraries", r"Skipping registering GPU devices"),
    ),
    Rule(
        "no_gpu_listed",
        "error",
        "TensorFlow lists no GPU",
        "The list of GPUs is empty: no driver in the container, a CUDA library that is "
        "missing, a TensorFlow without CUDA, or CUDA_VISIBLE_DEVICES.",
        "Run doctor (without --log) where TensorFlow runs, and look at the first lines that "
        "TensorFlow prints at its import.",
        "TensorFlow, GPU guide, Setup",
        (
            r"(?i)num(ber of)? GPUs? available:? *0\b",
            r"^(>>> )?\[\]$",
            r"(?i)GPU(s)? (device )?(is |are )?not (found|available)",
            r"GPU device not found",
            r"GPU is NOT AVAILABLE",
            r"(?i)\bno GPU (was |device )?(found|detected|available)",
        ),
    ),
    Rule(
        "gpu_list_is_empty",
        "error",
        "The program takes the first GPU of an empty list",
        "list_physical_devices('GPU') is empty: no driver in the container, a CUDA library "
        "that is missing, a TensorFlow without CUDA, or CUDA_VISIBLE_DEVICES.",
        "Run doctor (without --log) where TensorFlow runs; in the program test the list "
        "before taking its first element.",
        "TensorFlow, GPU guide",
        (
            r"(gpus?|physical_devices|devices|list_physical_devices\(['\"]GPU['\"]\))\[0\]",
            r"assert len\((gpus|physical_devices)\)",
        ),
        also=(r"IndexError: list index out of range", r"AssertionError: Not enough GPU"),
    ),
    Rule(
        "nvidia_smi_missing",
        "error",
        "nvidia-smi is not there",
        "The container has no GPU (--gpus all is missing, or NVIDIA_DRIVER_CAPABILITIES lacks "
        "utility), or no driver is installed.",
        "docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …; on the host "
        "install the driver.",
        "NVIDIA Container Toolkit, Troubleshooting",
        (
            r"nvidia-smi: (command )?not found",
            r'"?nvidia-smi"?: executable file not found',
            r"nvidia-smi: No such file",
        ),
    ),
    Rule(
        "killed_for_memory",
        "error",
        "The program was killed (137)",
        "The kernel killed it because the machine, or the container's limit, was out of "
        "memory; docker stop or kill gives 137 too.",
        "`docker inspect -f '{{.State.OOMKilled}}' NAME` and `dmesg | tail`: true means "
        "memory: smaller batch, shuffle buffer or data, or a higher --memory (Docker Desktop: "
        "Resources).",
        "Docker documentation, Resource constraints",
        (
            r"^(\S+: line \d+: +\d+ )?Killed\b",
            r"OOMKilled",
            r"[Oo]ut of memory: Kill",
            r"(exit(ed)?|status|code|returned)[^\d\n]{0,20}137\b",
            r"signal 9|SIGKILL|Exit code: -9",
        ),
    ),
    Rule(
        "kernel_died",
        "error",
        "The notebook's kernel died",
        "Its process ended: mostly the memory was used up (the container's limit counts), "
        "else a native library crashed.",
        "Run the cell's code as a program in a terminal: it prints why. `docker stats` shows "
        "memory; a smaller data set or a higher --memory.",
        "jupyter/docker-stacks#736",
        (
            r"(?i)kernel (appears to have )?died",
            r"KernelRestarter: restarting kernel",
            r"(?i)kernel restarting",
            r"kernel .* (was )?canceled .*dead",
        ),
    ),
    Rule(
        "crashed_natively",
        "error",
        "The program crashed in native code",
        "A library crashed: two that do not go together (OpenMP, CUDA, NumPy, OpenCV), a bug, "
        "or faulty memory. The lines before it matter more.",
        "python -X faulthandler shows where; import TensorFlow first; a fresh environment "
        "with pinned versions (this image).",
        "Python documentation, faulthandler",
        (
            r"[Ss]egmentation fault",
            r"Fatal Python error",
            r"Aborted \(core dumped\)",
            r"SIGSEGV",
            r"double free or corruption",
            r"Check failed: ",
        ),
    ),
    Rule(
        "native_runtime_failed",
        "error",
        "TensorFlow's native library cannot be loaded",
        "Its shared library is damaged, incomplete, or meant for another system; the lines "
        "above it name what is missing.",
        "pip install --force-reinstall --no-cache-dir tensorflow==2.9.1 in a fresh "
        "environment of Python 3.8.",
        "TensorFlow, Build and install error messages",
        (r"Failed to load the native TensorFlow runtime", r"_pywrap_tensorflow_internal"),
    ),
    Rule(
        "unknown_error",
        "error",
        "An error that no rule knows",
        "The log holds a line that looks like an error, and no rule of the doctor fits it.",
        "Read the lines around it; paste the whole log from the program's start "
        "(TF_CPP_MIN_LOG_LEVEL=0), not only the traceback's end; look for the quoted words in "
        "the tracker of the program that printed it.",
        "workbench/doctor/log_reader.py",
    ),
    # --- Warnings: the program went on.
    Rule(
        "gpu_slow_for_float16",
        "warning",
        "mixed_float16 will be slow on this device",
        "The GPU has no float16 Tensor Cores (compute capability below 7.0), or there is no "
        "GPU at all.",
        "Use float32 there; on a CPU with AMX mixed_bfloat16. train --policy=auto chooses.",
        "TensorFlow guide, Mixed precision, Supported hardware",
        (
            r"may run slowly with dtype policy mixed_float16",
            r"dtype policy mixed_float16 may run slowly",
            r"has no float16 Tensor Cores: mixed_float16",
            r"mixed_float16 on a CPU is about a hundred times slower",
        ),
    ),
    Rule(
        "steps_skipped",
        "warning",
        "Steps were skipped: float16 overflowed",
        "Dynamic loss scaling looks for the largest scale that fits: some skipped steps at "
        "the start or after a doubling are normal.",
        "Nothing, as long as they are few; many in a row: lower the learning rate, make the "
        "last layers float32.",
        "docs/training.md, Loss scaling",
        (r"steps were skipped: their gradients were not finite",),
    ),
    Rule(
        "overfitting_log",
        "warning",
        "Training is clearly better than validation",
        "The model learns the training examples by heart.",
        "Stop earlier (--early_stopping=3), more data, augmentation, dropout or a smaller model.",
        "docs/training.md",
        (r"points more accurate than validation: overfitting",),
    ),
    Rule(
        "some_gradients_missing",
        "warning",
        "Some variables get no gradient",
        "A part of the model does not lead to the loss (an unused head, a pooler, a layer "
        "called outside).",
        "Fine if that part is not meant to train; else connect it to the loss.",
        "TensorFlow guide, Introduction to gradients",
        (r"Gradients do not exist for variables",),
    ),
    Rule(
        "retracing",
        "warning",
        "A tf.function is traced again and again",
        "It is called with Python numbers or shapes that change, or made anew in a loop: each "
        "call builds a graph.",
        "Pass tensors, pad to one shape, reduce_retracing=True or an input_signature, define "
        "the function outside the loop.",
        "TensorFlow guide, Better performance with tf.function, Controlling retracing",
        (r"triggered tf\.function retracing",),
    ),
    Rule(
        "checkpoint_partly_used",
        "warning",
        "Values of a checkpoint were not used",
        "The model or optimizer is another one than was saved, or was not built yet when "
        "restored (for prediction that is fine).",
        "status.expect_partial() for prediction; else build the same objects before restore, "
        "and assert_consumed().",
        "tf.train.Checkpoint",
        (
            r"is being deleted with unrestored values",
            r"Value in checkpoint could not be found in the restored object",
            r"Value .* not found in checkpoint",
        ),
    ),
    Rule(
        "autograph_failed",
        "warning",
        "AutoGraph runs a function as it is",
        "Its source cannot be read (a lambda, a notebook's cell changed since, an interactive "
        "shell); Python control flow in it is fixed at tracing.",
        "Define it with def in a file; @tf.autograph.experimental.do_not_convert silences it.",
        "TensorFlow guide, Better performance with tf.function",
        (r"AutoGraph could not transform",),
    ),
    Rule(
        "allocation_exceeds_share",
        "warning",
        "An allocation exceeds 10 % of the machine's free memory",
        "A large tensor on the CPU: the whole data set, or a large batch. It is a hint, and "
        "comes before a kill for memory.",
        "A smaller batch or tf.data, if the program is killed later.",
        "tensorflow/tensorflow#18736",
        (r"Allocation of \d+ exceeds 10% of (free )?system memory",),
    ),
    Rule(
        "gpu_memory_tight",
        "warning",
        "The GPU's memory is tight: an algorithm got less than it asked for",
        "cuDNN tried an algorithm that needs more memory than is free, and TensorFlow took "
        "another. Not a failure.",
        "Nothing; a smaller batch may be faster.",
        "tensorflow/tensorflow#24496",
        (r"ran out of memory trying to allocate .*not a failure",),
    ),
    Rule(
        "ptxas_missing",
        "warning",
        "ptxas is not there: the driver compiles",
        "A runtime image has no CUDA toolkit; TensorFlow lets the driver compile its few "
        "kernels instead. Without XLA this does no harm.",
        "Nothing; for --jit_compile install cuda-nvcc.",
        "tensorflow/tensorflow#57055",
        (
            r"(Couldn't invoke|Failed to launch) ptxas",
            r"cannot spawn child process",
            r"Couldn't get ptxas version",
            r"Relying on driver to perform ptx compilation",
        ),
    ),
    Rule(
        "slow_callback",
        "warning",
        "A callback takes longer than a batch",
        "A callback that works after each batch slows the training down, or the batches are "
        "very short.",
        "Do its work once an epoch; steps_per_execution in compile().",
        "tf.keras.callbacks.Callback",
        (r"[Cc]allbacks? method `\w+` is slow",),
    ),
    Rule(
        "shuffle_buffer_large",
        "warning",
        "The shuffle buffer takes long to fill",
        "It holds that many decoded examples in memory before the first step; where the program is "
        "killed or the kernel dies soon after, it is too large for the machine.",
        "Shuffle file names or indices instead of decoded examples, or a smaller buffer.",
        "tensorflow/tensorflow#42586",
        (r"Filling up shuffle buffer",),
    ),
    Rule(
        "callback_without_metric",
        "warning",
        "A callback misses its metric",
        "EarlyStopping, ModelCheckpoint or ReduceLROnPlateau watches a metric that this "
        "training does not have, mostly val_loss without validation data: it does nothing.",
        "Give validation_data, or monitor='loss'; the name must be one of history.history.",
        "tf.keras.callbacks.EarlyStopping",
        (
            r"conditioned on metric `\w+` which is not available",
            r"Can save best model only with \w+ available",
        ),
    ),
    Rule(
        "slow_algorithm_search",
        "warning",
        "An operation takes unusually long while algorithms are tried",
        "XLA times algorithms for a convolution, once for each shape; on a new card kernels "
        "are compiled as well.",
        "Nothing if it comes at the start only; keep shapes the same, drop jit_compile if it "
        "goes on.",
        "tensorflow/tensorflow#62075",
        (r"slow_operation_alarm",),
    ),
    Rule(
        "cache_not_filled",
        "warning",
        "A cached data set was not read to its end",
        "take() stands after cache(), so the cache is thrown away each time.",
        "dataset.take(k).cache().repeat(), in this order.",
        "tf.data.Dataset.cache",
        (r"did not fully read the dataset being cached",),
    ),
    Rule(
        "pip_conflict_told",
        "warning",
        "pip installed versions that do not go together",
        "Another package wants a different version than what is installed now.",
        "See whether it still works; pin the versions that it names.",
        "pip documentation, Dependency resolution",
        (r"pip's dependency resolver does not currently take into account",),
    ),
    # --- Harmless.
    Rule(
        "harmless_tensorrt",
        "info",
        "TensorRT is not there",
        "libnvinfer belongs to TensorRT, which only inference by TF-TRT uses.",
        "Nothing.",
        "tensorflow/tensorflow#57679",
        (r"libnvinfer", r"Could not find TensorRT"),
    ),
    Rule(
        "harmless_numa",
        "info",
        "The NUMA node reads as negative",
        "The kernel tells no NUMA node for the card; TensorFlow takes node 0.",
        "Nothing.",
        "tensorflow/tensorflow#42738",
        (r"NUMA node read from SysFS had negative value", r"could not open file to read NUMA node"),
    ),
    Rule(
        "harmless_onednn",
        "info",
        "oneDNN is on, or the CPU has instructions that could be used",
        "A hint at the start about how TensorFlow was built.",
        "Nothing.",
        "TensorFlow 2.9.0 release notes",
        (
            r"oneDNN custom operations are on",
            r"rebuild TensorFlow with the appropriate compiler flags",
            r"optimized with oneAPI Deep Neural Network",
            r"supports instructions that this TensorFlow binary was not compiled to use",
        ),
    ),
    Rule(
        "harmless_plugin_registered",
        "info",
        "A cuDNN, cuFFT or cuBLAS factory is registered twice",
        "TensorFlow 2.14 to 2.17 print this at each start.",
        "Nothing.",
        "tensorflow/tensorflow#62075",
        (r"Unable to register cu(DNN|FFT|BLAS) factory",),
    ),
    Rule(
        "harmless_notices",
        "info",
        "Notices of a normal start",
        "Lines about devices, libraries that opened, XLA or MLIR: nothing is wrong in them.",
        "Nothing.",
        "TensorFlow, GPU guide",
        (
            r"Successfully opened dynamic library",
            r"Error occurred when finalizing GeneratorDataset iterator",
            r"Local rendezvous (is aborting with status: OUT_OF_RANGE|recv item cancelled)",
            r"Failed to open libibverbs",
            r"this does not indicate an error and you can ignore this message",
            r"MLIR",
            r"Created (TensorFlow )?device",
            r"Loaded cuDNN version",
            r"TensorFloat-32 will be used",
            r"Compiled cluster using XLA",
            r"XLA service 0x",
        ),
    ),
    Rule(
        "harmless_deprecation",
        "info",
        "A deprecation notice",
        "A name will go away in a later version; here it works.",
        "Nothing, as long as the version stays.",
        "TensorFlow API documentation",
        (
            r"DeprecationWarning",
            r"FutureWarning",
            r"is deprecated and will be removed",
            r"argument is deprecated, use",
        ),
    ),
)

RULES = {rule.id: rule for rule in (*MACHINE, *RUN, *LOG)}


def found(rule_id: str, evidence: str) -> Finding:
    """Return the finding of the rule with this id, with the ``evidence`` that was seen."""
    rule = RULES[rule_id]
    return Finding(
        rule.id, rule.level, rule.symptom, evidence, rule.cause, rule.remedy, rule.source
    )
