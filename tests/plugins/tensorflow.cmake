# SPDX-License-Identifier: Apache-2.0
casync_python_test(casync.tensorflow.operations test_tensorflow.py test_tensorflow_failures.py
  ENVIRONMENT tensorflow IMPORTS tensorflow keras casync.tensorflow LABELS processes TIMEOUT 900 WAITS)
casync_python_test(casync.tensorflow.keras test_keras.py
  ENVIRONMENT tensorflow IMPORTS tensorflow keras casync.tensorflow LABELS processes TIMEOUT 900 WAITS)
