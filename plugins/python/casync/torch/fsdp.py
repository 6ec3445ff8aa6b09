# SPDX-License-Identifier: Apache-2.0
"""FSDP2: shards stay inside a node, and CaSync averages them between nodes, or reduces and scatters across all ranks.

    mesh = init_device_mesh("cpu", (nodes, ranks_per_node), mesh_dim_names=("nodes", "shards"))
    fully_shard(model, mesh=mesh["shards"])
    state = casync.torch.State(codec="int4", process_group=mesh.get_group("nodes"))
    casync.torch.fsdp_all_reduce_hook(state).install(model)
"""

from __future__ import annotations

import functools
import gc
import time
import weakref
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FSDPModule
from torch.distributed.fsdp._fully_shard._fsdp_api import ReduceScatter
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

from casync import errors
from casync.torch import naming, shards
from casync.torch.backward import BackwardPass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from casync.session import Handle
    from casync.torch.state import State


# The module that has a name in a state.
_modules: weakref.WeakKeyDictionary[State, dict[str, weakref.ref[FSDPModule]]] = weakref.WeakKeyDictionary()


def fsdp_all_reduce_hook(state: State) -> AllReduceHook:
    """The hook for FSDPModule.set_all_reduce_hook on a one-dimensional mesh. `state` is a casync.torch.State whose
    process group joins the ranks that hold the same shard. install(model) sets it on all FSDP modules of a model."""
    return AllReduceHook(state)


class _Step:
    """One backward pass is one step of the session."""

    def __init__(self, state: State) -> None:
        self._state, self._pass, self._begin = state, BackwardPass(self._end), 0.0
        self._handles: list[Handle] = []
        self._elements: dict[str, int] = {}  # by name

    @property
    def ranks(self) -> list[int]:
        """The session's ranks, as the whole job numbers them."""
        return dist.get_process_group_ranks(self._state._process_group)

    def claim(self, modules: list[tuple[str, FSDPModule]]) -> None:
        """InvalidArgument: a module of another model has the same name in this state."""
        known = _modules.setdefault(self._state, {})
        for name, module in modules:
            other = known[name]() if name in known else None
            if other is not None and other is not module:
                raise errors.InvalidArgument(
                    f"module {name} of another model is in this state, and each would be given what the other has not sent: "
                    "give each model a casync.torch.State of its own"
                )
        known.update({name: weakref.ref(module) for name, module in modules})

    def start(self, name: str, tensor: torch.Tensor, scatter: bool = False) -> Handle:
        """Starts averaging a flat tensor in place, or with `scatter` this rank's shard of it, under a name, inside of a
        backward pass. Returns its Handle; the end of the pass waits for it. InvalidArgument: its size is another one than
        in earlier passes."""
        if tensor.device.type not in ("cpu", "cuda"):
            raise errors.Unavailable(f"{name} is on {tensor.device}, expected the CPU or a GPU of CUDA")
        if (before := self._elements.setdefault(name, tensor.numel())) != tensor.numel():
            raise errors.InvalidArgument(
                f"module {name}: its gradient has {tensor.numel()} elements and had {before}: a parameter was frozen, unfrozen "
                "or not used. Between two steps, close the state and install the hook of a new casync.torch.State: residuals "
                "belong to elements, and those are others now"
            )
        synchronizer = self._state.synchronizer(tensor.device)
        declare = functools.partial(shards.declare, synchronizer) if scatter else synchronizer.declare
        identity = declare(name, tensor.shape, naming.dtype_name(tensor, f"gradient {name}"))
        if self._pass.join():
            self._begin = time.monotonic()
        stream = naming.stream_of(tensor.device)
        (handle,) = synchronizer.submit([identity], [tensor.data_ptr()], tensor, stream=stream)
        self._handles.append(handle)
        return handle

    def _end(self) -> None:
        waits_from = time.monotonic()
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.wait()  # so that the time counts as lost for this gradient
        landed = time.monotonic()
        self._state.end_pass(self._state.synchronizer().end_step(), self._begin, waits_from, landed)


class AllReduceHook:
    """Averages a module's shard with the same shard of the other nodes, under the module's name. The backward pass goes on
    meanwhile, unless FSDP would read the shard during it."""

    def __init__(self, state: State) -> None:
        self._step, self._name, self._groups = _Step(state), None, []

    def install(self, model: torch.nn.Module) -> None:
        """Sets a hook on every FSDP module of `model`. InvalidArgument: a module is on a two-dimensional mesh, where
        FSDP reduces between nodes itself; another rank of the state's process group holds another shard of it; another model
        has a module of this name in the state; or `model` has no FSDP module."""
        modules = _fsdp_modules(model)
        for name, module in modules:
            self._check(name, module._get_fsdp_state()._fsdp_param_groups)
        self._step.claim(modules)
        for name, module in modules:
            hook = AllReduceHook.__new__(AllReduceHook)
            hook._step, hook._name = self._step, name
            hook._groups = module._get_fsdp_state()._fsdp_param_groups
            module.set_all_reduce_hook(hook)

    def __call__(self, reduced: torch.Tensor) -> None:
        if self._name is None:
            self._find_module()
        handle = self._step.start(self._name, reduced)
        if not _is_final(self._groups, reduced):
            handle.wait()

    def _find_module(self) -> None:
        """The hook was given to set_all_reduce_hook directly, which does not tell of which module it is."""
        groups = [g for g in gc.get_objects() if type(g) is FSDPParamGroup and g._all_reduce_hook is self]
        names = sorted({group._module_fqn or "(root)" for group in groups})
        if len(names) != 1:
            raise errors.InvalidArgument(
                f"one hook is on {len(names)} modules ({', '.join(names)}): call fsdp_all_reduce_hook(state).install(model)"
            )
        self._check(names[0], groups)
        self._name, self._groups = names[0], groups

    def _check(self, name: str, groups: Sequence[Any]) -> None:
        _refuse_native(name, groups)
        ranks, own = self._step.ranks, dist.get_rank()
        for shards_on in map(_ranks_with_shards, groups):
            if set(ranks).intersection(shards_on or [own]) != {own}:
                raise errors.InvalidArgument(
                    f"module {name} has a shard on each of the ranks {shards_on}, and the state averages over the ranks "
                    f"{ranks}, but different shards have no average: give State(process_group=...) the ranks that hold "
                    'the same shard, mesh.get_group("nodes"), or install casync.torch.CompressedReduceScatter(state), if '
                    "all ranks hold different ones"
                )


def _is_final(groups: Sequence[Any], reduced: torch.Tensor) -> bool:
    """Returns True if FSDP makes views of `reduced` the parameters' gradients, and does not read it until the backward pass
    is over: it neither divides, casts nor adds it, and nobody is told of a gradient that is there. False where this
    torch does not say."""
    try:
        (group,) = groups
        return (
            reduced.dtype in (torch.float32, torch.bfloat16)
            and _gradient_dtypes(group) <= {reduced.dtype, None}
            and group.gradient_divide_factor is None
            and not group.force_sum_reduction_for_comms
            and all(
                parameter.sharded_param.grad is None
                and not parameter.offload_to_cpu
                and not getattr(parameter.sharded_param, "_post_accumulate_grad_hooks", None)
                for parameter in group.fsdp_params
            )
        )
    except (AttributeError, ValueError):
        return False


def _gradient_dtypes(group: Any) -> set[torch.dtype | None]:
    """The types to which FSDP casts the gradients of a group; None: it casts none."""
    if hasattr(group, "_orig_dtype"):  # torch older than 2.15
        return {group._orig_dtype}
    return {parameter.sharded_grad_dtype for parameter in group.fsdp_params}


class CompressedReduceScatter(ReduceScatter):
    """For FSDPModule.set_custom_reduce_scatter: plain FSDP whose shards are spread across slow links. Each rank sends its
    gradients of each shard, compressed, to the rank that keeps it. `state`'s process group is the mesh's."""

    def __init__(self, state: State) -> None:
        self._step, self._name = _Step(state), None

    def install(self, model: torch.nn.Module) -> None:
        """Sets it on every FSDP module of `model`. InvalidArgument: a module has its shards on other ranks than those
        of the state's process group; another model has a module of this name in the state; or `model` has no FSDP
        module."""
        modules, ranks = _fsdp_modules(model), self._step.ranks
        for name, module in modules:
            for shards_on in map(_ranks_with_shards, module._get_fsdp_state()._fsdp_param_groups):
                if (shards_on or ranks) != ranks:
                    raise errors.InvalidArgument(
                        f"module {name} has a shard on each of the ranks {shards_on}, and the state's process group has "
                        f'the ranks {ranks}: give State(process_group=...) those of the shards, mesh.get_group("shards")'
                    )
        self._step.claim(modules)
        for name, module in modules:
            comm = CompressedReduceScatter.__new__(CompressedReduceScatter)
            comm._step, comm._name = self._step, name
            module.set_custom_reduce_scatter(comm)

    def allocate(self, size: Sequence[int | torch.SymInt], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self,
        output_tensor: torch.Tensor,
        input_tensor: torch.Tensor,
        group: dist.ProcessGroup,
        op: Any,
        async_op: bool = False,
    ) -> None:
        name = self._name
        if name is None:
            raise errors.InvalidArgument(
                "a CompressedReduceScatter needs module names: set it with CompressedReduceScatter(state).install(model)"
            )
        if not (op == dist.ReduceOp.SUM or op == dist.ReduceOp.AVG):
            raise errors.InvalidArgument(
                f"module {name}: reduce-scatter with {op}, can be SUM or AVG: call "
                "model.set_force_sum_reduction_for_comms(True)"
            )
        self._step.start(name, input_tensor, scatter=True).wait()
        output_tensor.copy_(shards.own_shard(input_tensor, group.rank(), group.size()).view_as(output_tensor))
        if op == dist.ReduceOp.SUM:
            output_tensor.mul_(group.size())


def _fsdp_modules(model: torch.nn.Module) -> list[tuple[str, FSDPModule]]:
    modules = [(name or "(root)", module) for name, module in model.named_modules() if isinstance(module, FSDPModule)]
    if not modules:
        raise errors.InvalidArgument("no module of this model is an FSDPModule: call fully_shard first")
    return modules


def _ranks_with_shards(group: Any) -> list[int] | None:
    """The ranks, as the whole job numbers them, that hold the shards of a group of parameters. None: this torch does
    not say."""
    shards_on = getattr(getattr(group, "mesh_info", None), "shard_process_group", None)
    return None if shards_on is None else dist.get_process_group_ranks(shards_on)


def _refuse_native(name: str, groups: Sequence[Any]) -> None:
    if any(group._is_hsdp for group in groups):
        raise errors.InvalidArgument(
            f"module {name} is on a two-dimensional mesh: FSDP averages between nodes itself, and the hook would do it "
            'twice. Shard on a one-dimensional mesh, fully_shard(module, mesh=mesh["shards"]), or give the other '
            'dimension a process group of the backend "casync"'
        )
