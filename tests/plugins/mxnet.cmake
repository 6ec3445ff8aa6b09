# SPDX-License-Identifier: Apache-2.0
# Each for itself: MXNet starts threads in the process that forks the ranks, which so cannot take another file.
casync_python_test(casync.mxnet.gluon test_mxnet.py ENVIRONMENT mxnet LABELS processes TIMEOUT 600 WAITS)
casync_python_test(casync.mxnet.failures test_mxnet_failures.py ENVIRONMENT mxnet LABELS processes TIMEOUT 600 WAITS)
