"""All that a training is made of, put together and checked before anything is written."""

from __future__ import annotations

import dataclasses
from typing import Any, Sequence

import tensorflow as tf

from workbench import judgement
from workbench.data.types import Dataset, Stream, count
from workbench.errors import Mistake
from workbench.feed import Feed, make_feeds
from workbench.fit_loop import FitLoop
from workbench.hardware import Gpu
from workbench.loop import CustomLoop
from workbench.models import build_model
from workbench.models.shapes import fit_shape
from workbench.models.user import ignored_compile_warning
from workbench.objective import Objective
from workbench.optimizer import build_optimizer
from workbench.precision import check_precision
from workbench.progress import Progress
from workbench.randomness import KeyedRandomness
from workbench.settings import Settings
from workbench.step import TrainingStep
from workbench.stream_feed import StreamFeed
from workbench.user_code import describe
from workbench.validation import Validation

# Examples on which the kind of the model's output is seen.
A_FEW = 8


@dataclasses.dataclass
class Parts:
    """The parts of a training; ``shape`` is that of an example as the model takes it.

    ``data`` says what was trained on, for config.json. ``stop`` ends graph calls early when it
    becomes true. ``best_weights`` are there with early stopping only.
    """

    model: tf.keras.Model
    shape: tuple[int, ...]
    objective: Objective
    step: TrainingStep
    feed: Feed
    loop: CustomLoop | FitLoop
    validation: Validation
    stop: tf.Variable
    data: dict[str, Any]
    guess: judgement.Guess
    best_weights: list[tf.Variable]
    warnings: list[str]
    progress: Progress = dataclasses.field(default_factory=Progress)

    def ask_to_stop(self) -> None:
        """Let the graph call that runs end early."""
        # Else the value might take its way through a GPU, behind the work it is to end.
        with tf.device("CPU:0"):
            self.stop.assign(True)


def assemble(settings: Settings, dataset: Dataset, policy: str, gpus: Sequence[Gpu]) -> Parts:
    """Return the parts of a training on ``dataset`` under the policy that is set.

    ``gpus`` are those in use. Raises ``Mistake`` where data, model and policy do not fit.
    """
    model = build_model(settings, dataset.train.shape, dataset.classes)
    shape = fit_shape(model, dataset.train.shape)
    feed, val_feed = make_feeds(dataset, shape, settings, gpus)
    optimizer = build_optimizer(policy, settings, settings.epochs * feed.steps)
    check_precision(model, optimizer, policy)
    images = val_feed.next(val_feed.start(0, 0), tf.constant(0))[0][:A_FEW]
    objective = Objective.of(model, images, dataset.classes, settings.label_smoothing)
    step = TrainingStep(
        model,
        optimizer,
        objective,
        KeyedRandomness(model, settings.seed),
        settings,
        shape,
        feed.input_dtype,
        feed.label_dtype,
    )
    # On the CPU: another thread sets it, and the loop's condition reads it there.
    with tf.device("CPU:0"):
        stop = tf.Variable(False, trainable=False)
    loop = _loop(settings, step, feed, stop)
    warnings = ignored_compile_warning(model) + _traced(loop, settings.model)
    if isinstance(feed, StreamFeed) and not feed.keeps_its_order():
        warnings.append(
            "the data comes in another order at each pass: a resumed run will not see the "
            "examples that an uninterrupted one would"
        )
    labels = None if isinstance(dataset.train, Stream) else dataset.train.labels
    best = model.weights if settings.early_stopping != "off" else []
    return Parts(
        model=model,
        shape=shape,
        objective=objective,
        step=step,
        feed=feed,
        loop=loop,
        validation=Validation(step, val_feed, stop),
        stop=stop,
        data={
            "digest": dataset.digest,
            "train_examples": count(dataset.train),
            "val_examples": count(dataset.val),
            "classes": objective.classes,
            "class_names": dataset.class_names,
        },
        guess=judgement.guess(labels, objective.classes),
        warnings=warnings,
        best_weights=[tf.Variable(weight, trainable=False) for weight in best],
    )


def _traced(loop: CustomLoop | FitLoop, model: str) -> list[str]:
    """Trace a training step; return warnings of what a resumed run will not draw again.

    Raises ``Mistake`` where the user's own model cannot be trained.
    """
    try:
        operations = loop.stateful_random_ops()
    # Whatever it is, it comes out of the user's code.
    except Exception as error:
        if ":" not in model:
            raise
        raise Mistake(f"--model={model}: a training step fails: {describe(error)}") from error
    return [
        f"{operation} draws random numbers whose state no checkpoint holds: a resumed run will "
        f"draw others; use tf.random.stateless_… or a Keras layer"
        for operation in operations
    ]


def _loop(
    settings: Settings, step: TrainingStep, feed: Feed, stop: tf.Variable
) -> CustomLoop | FitLoop:
    if settings.loop == "custom":
        return CustomLoop(step, feed, stop)
    steps = settings.steps_per_execution
    if steps == "auto":
        # Between the steps of a call nothing can be logged or saved.
        every = settings.checkpoint_steps
        steps = min(settings.log_steps, settings.log_steps if every == "epoch" else every)
    return FitLoop(step, feed, stop, steps)
