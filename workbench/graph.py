"""What many traced functions need."""

from __future__ import annotations

import tensorflow as tf

# AutoGraph rewrites every function that a tf.function calls, which takes longer than to trace it:
# half a second of a start. This marks those that have no condition or loop on tensors, and call
# no code of the user's, which may have.
plain = tf.autograph.experimental.do_not_convert
