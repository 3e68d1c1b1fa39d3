"""The models: our own, those of keras.applications, and the user's."""

from __future__ import annotations

import tensorflow as tf

from workbench.catalogue import APPLICATIONS
from workbench.errors import Mistake
from workbench.models.applications import build_application
from workbench.models.cnn import build_cnn
from workbench.models.mlp import build_mlp
from workbench.models.user import build_user_model
from workbench.settings import Settings

OWN_MODELS = {"mlp": build_mlp, "cnn": build_cnn}


def build_model(settings: Settings, shape: tuple[int, ...], classes: int | None) -> tf.keras.Model:
    """Return the model that ``--model`` names, built under the global precision policy.

    ``shape`` is that of one example, without the batch; ``classes`` is None when the data does
    not tell their number. The shape that examples must be brought to is ``fit_shape``'s.
    Raises ``Mistake`` when the model cannot be built for this data.
    """
    name = settings.model
    if name not in OWN_MODELS and name not in APPLICATIONS:
        return build_user_model(name, shape, classes)
    if classes is None:
        raise Mistake(f"--model={name}: the data does not tell the number of classes: --classes=N")
    if name in OWN_MODELS:
        return OWN_MODELS[name](shape, classes)
    return build_application(settings, shape, classes)
