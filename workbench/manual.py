"""The words of ``train --help`` around its flags."""

HELP_HEADING = """\
NAME
    train - train a Keras model in TensorFlow 2.9, in the precision that fits the hardware

SYNOPSIS
    train [--flag=value | --flag value]...

DESCRIPTION
    Trains a model that sorts examples into classes, with Adam on cross-entropy; validates it
    after each epoch, and saves it. On a GPU with Tensor Cores it trains in mixed_float16 with
    dynamic loss scaling. Many steps run in one graph call; data that fits stays on the device.
    Everything that can be checked is checked first: flags, data, model. docs/training.md is
    the guide.
"""

HELP_ENDING = """\
OWN DATA AND MODELS
    --data=FUNCTION takes no arguments and returns ((x_train, y_train), (x_test, y_test)),
    (x, y), a dict of x_train, y_train, x_test, y_test, or (train, val) of tf.data.Dataset.
    --model=FUNCTION gets input_shape, that of one example, and classes, each if it takes it. It
    returns a Keras model with one input and one float32 output: probabilities or logits of
    each class, or one unit for two classes. The working directory can be imported from.

STOPPING AND RESUMING
    SIGTERM, SIGINT (Ctrl-C) or a lost terminal (SIGHUP) ends a training within about a second.
    It saves a checkpoint and summary.json, and the model where that takes less than 4 seconds.
    Before the first step there is nothing to save, and a second signal after 2 seconds saves
    nothing more: either ends the program at once. The same command with --out naming that
    run's folder goes on at that step; after a kill, at that of the last checkpoint. A damaged
    checkpoint is told, and the one before it taken. Other flags than before are a mistake, but
    for --epochs (unless --schedule=cosine), --log_steps, --checkpoint_steps,
    --checkpoint_minutes, --steps_per_execution, --input, --download and --resume. The loss
    scale goes on from the checkpoint. With --deterministic a resumed run ends with the same
    bits as one that was never stopped; another TensorFlow, CPU, number of cores or GPU, or
    oneDNN switched on or off, is a mistake then.

FILES (in the output folder, whose path has none of * ? [ ] \\)
    config.json     every flag as understood, the policy and its reason, versions, hardware
    metrics.jsonl   a line for each log window
    summary.json    the result: accuracies, gap, losses, steps, speed (images/s), memory (bytes)
    tensorboard/    event files: tensorboard --logdir FOLDER/tensorboard
    checkpoints/    the last three, in TensorFlow's format: ckpt-N
    model/          the SavedModel; serving_default takes `inputs`, (N, ...) as the model does
                    (mlp on mnist: (N, 784) float32), for uint8 data pixels / 255, and gives
                    float32 `probabilities` (N, classes)

ENVIRONMENT
    WORKBENCH_DATASETS    the folder that holds mnist.npz
    CUDA_VISIBLE_DEVICES  the GPU to use (of several the first is used); -1 for none
    TF_CPP_MIN_LOG_LEVEL  0 shows all that TensorFlow has to say; 3, our default, little
    TF_ENABLE_ONEDNN_OPTS 0 switches oneDNN off
    TF_NUM_INTRAOP_THREADS, TF_NUM_INTEROP_THREADS  threads of TensorFlow; its own choice, but
                          for mlp in mixed_bfloat16 on two cores, where we give 1 and 2,
                          unless one of these or OMP_NUM_THREADS is set
    TF_FORCE_GPU_ALLOW_GROWTH  true, our default: GPU memory is taken as it is needed

LOADING THE MODEL
    serve = tf.saved_model.load(FOLDER + "/model").signatures["serving_default"]
    probabilities = serve(inputs=tf.constant(pixels / 255, tf.float32))["probabilities"]

READING A CHECKPOINT
    newest = tf.train.latest_checkpoint(FOLDER + "/checkpoints")
    tf.train.list_variables(newest)
    model = tf.keras.models.load_model(FOLDER + "/model", compile=False)
    tf.train.Checkpoint(model=model).restore(newest).expect_partial()

EXAMPLES
    train
    train --batch_size=512 --learning_rate=0.002 --warmup_steps=100 --schedule=cosine
    train --policy=float32 --seed=1 --out=/workspace/runs/float32-1
    train --policy=mixed_float16 --initial_scale=1024
    train --data=mine.npz --model=cnn --epochs=20 --early_stopping=3
    train --data=photos --model=ResNet50 --image_size=224 --skip_broken
    train --data=mine.py:digits --model=mine.py:model --out=/workspace/runs/mine

EXIT STATUS
    0    the training ended, the model is saved
    1    the training failed: stderr names cause, evidence and remedy, summary.json the verdict
         (stopped_because); the last good checkpoint is kept
    2    a mistake in the command line or in what it names; nothing was run or written
    129  stopped by SIGHUP: see STOPPING AND RESUMING for what is saved
    130  stopped by SIGINT: the same
    137  killed by SIGKILL, as a container is at its memory limit; the same command goes on from
         the last checkpoint, a smaller --batch_size needs a new --out
    143  stopped by SIGTERM: the same
"""
