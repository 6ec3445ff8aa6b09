# SPDX-License-Identifier: Apache-2.0
# Tests of parts that could differ between versions of PyTorch run with the newest, too, in one case of each. Each entry
# imports PyTorch twice, for six seconds of a processor: in pytest, of which a fork is the process that even ranks come
# from, and for odd ranks. So the newest has one entry.
set(torch_imports IMPORTS torch torch._dynamo casync.torch)
set(ddp test_torch_ddp.py test_torch_node.py test_torch_device.py test_torch_together.py
  test_torch_optimizer.py test_torch_optimizer_midway.py test_torch_optimizer_parameters.py test_torch_checkpoint.py
  test_torch_state.py)
set(fsdp test_torch_fsdp.py test_torch_fsdp_together.py)
set(group test_torch_group.py test_torch_group_device.py test_torch_group_exact.py test_torch_group_failures.py)
casync_python_test(casync.torch.ddp ${ddp} ENVIRONMENT torch ${torch_imports} LABELS processes TIMEOUT 1200 WAITS)
casync_python_test(casync.torch.fsdp ${fsdp} ENVIRONMENT torch ${torch_imports} LABELS processes TIMEOUT 900 WAITS)
casync_python_test(casync.torch.group ${group} ENVIRONMENT torch ${torch_imports} LABELS processes TIMEOUT 900 WAITS)
casync_python_test(casync.torch_newest.plugin ${ddp} ${fsdp} ${group}
  ENVIRONMENT torch_newest ${torch_imports} LABELS processes TIMEOUT 1800 WAITS)
casync_python_test(casync.torch.modes test_torch_modes.py test_torch_asynchronous.py test_torch_gossip.py
  test_torch_failures.py test_torch_optimizer_failures.py test_torch_broadcast.py
  ENVIRONMENT torch ${torch_imports} LABELS processes TIMEOUT 1200 WAITS)
casync_python_test(casync.torch.launchers test_torchrun.py test_torchrun_nodes.py
  ENVIRONMENT torch ${torch_imports} LABELS processes TIMEOUT 600 WAITS)
