"""How TensorFlow is loaded: to be settled before anything imports it."""

import os


def set_defaults() -> None:
    """Set the variables that TensorFlow reads when it is loaded; what the user set stays."""
    # Its own log: errors alone.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # GPU memory as it is needed, not all of it: others may share the GPU, and the peak is known.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
