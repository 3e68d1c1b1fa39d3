"""What ``--model`` of audit can name, told without TensorFlow."""

from __future__ import annotations

import os

from workbench.catalogue import APPLICATIONS, MODELS
from workbench.errors import Mistake
from workbench.flags import nearest


def is_saved(name: str) -> bool:
    """Tell whether ``--model=name`` is that of a saved model: a folder, or a file of HDF5."""
    return os.path.isdir(name) or name.endswith((".h5", ".hdf5", ".keras"))


def check_name(name: str) -> None:
    """Raise ``Mistake`` where ``--model=name`` cannot be any model. Loads nothing."""
    if name in MODELS or name in APPLICATIONS or (":" in name and not is_saved(name)):
        return
    if not is_saved(name):
        raise Mistake(
            f"--model={name}: give {', '.join(MODELS)}, a name of keras.applications"
            f"{nearest(name, APPLICATIONS)}, module:function or path.py:function, the folder of a "
            f"SavedModel or an .h5 file"
        )
    if not os.path.exists(name):
        raise Mistake(f"--model={name}: the file is not there: check its name")
    if os.path.isdir(name) and not os.path.exists(os.path.join(name, "saved_model.pb")):
        raise Mistake(
            f"--model={name}: the folder holds no SavedModel (no saved_model.pb): name that of one"
        )
