"""The words of ``train --help`` around its flags."""

HELP_HEADING = """\
NAME
    train - train a Keras model in TensorFlow 2.9, in the precision that fits the hardware

SYNOPSIS
    train [--flag=value | --flag value]...

DESCRIPTION
    Trains the model with Adam on categorical cross-entropy, validates it after each epoch,
    and saves it. On a GPU with Tensor Cores it trains in mixed_float16 with dynamic loss
    scaling. Many steps run in one graph call; the data stays on the device.
    SIGTERM, SIGINT (Ctrl-C) or a lost terminal (SIGHUP) stops it within a second; it saves
    the model first.
"""

HELP_ENDING = """\
FILES (in the output folder)
    config.json     every flag as understood, the policy and its reason, versions, hardware
    metrics.jsonl   a line for each log window
    summary.json    the result: accuracies, losses, steps, speed (images/s), memory (bytes)
    tensorboard/    event files: tensorboard --logdir FOLDER/tensorboard
    model/          the SavedModel; serving_default takes float32 `inputs` of shape (N, 784),
                    pixels / 255, and gives float32 `probabilities` of shape (N, 10)

ENVIRONMENT
    WORKBENCH_DATASETS    the folder that holds mnist.npz
    CUDA_VISIBLE_DEVICES  the GPUs to use; -1 for none
    TF_CPP_MIN_LOG_LEVEL  0 shows all that TensorFlow has to say; 3, our default, little
    TF_ENABLE_ONEDNN_OPTS 0 switches oneDNN off

LOADING THE MODEL
    serve = tf.saved_model.load(FOLDER + "/model").signatures["serving_default"]
    probabilities = serve(inputs=tf.constant(pixels / 255, tf.float32))["probabilities"]

EXAMPLES
    train
    train --epochs=10 --batch_size=256 --learning_rate=0.002
    train --policy=float32 --seed=1 --out=/workspace/runs/float32-1
    train --policy=mixed_float16 --initial_scale=1024

EXIT STATUS
    0    the training ended, the model is saved
    1    the training failed; stderr names the cause and the remedy
    2    a mistake in the command line or in what it names; nothing was run or written
    129  stopped by SIGHUP, the model is saved
    130  stopped by SIGINT, the model is saved
    143  stopped by SIGTERM, the model is saved
"""
