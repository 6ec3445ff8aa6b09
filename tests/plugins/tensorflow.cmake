# SPDX-License-Identifier: Apache-2.0
# One entry, because each imports TensorFlow twice.
casync_python_test(casync.tensorflow.plugin test_tensorflow.py test_tensorflow_failures.py test_keras.py
  ENVIRONMENT tensorflow IMPORTS tensorflow keras casync.tensorflow LABELS processes TIMEOUT 1200 WAITS)
