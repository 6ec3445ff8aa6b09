# SPDX-License-Identifier: Apache-2.0
"""Runs an example, and prints a digest of its model's parameters when its main() returns: `replica 5f3a... of rank 1`.

usage: replicas.py EXAMPLE.py

An example prints what its user wants to know, and this is not a part of it: so main()'s variables are looked at from here.
"""

import hashlib
import os
import runpy
import sys

RANKS = ("CASYNC_RANK", "RANK")


def parameters_of(variables):
    """The bytes of each parameter, or of this rank's shard of it."""
    model = next(variables[name] for name in ("model", "net", "trainer") if name in variables)
    if hasattr(model, "collect_params"):  # gluon
        return [p.data().asnumpy().tobytes() for p in model.collect_params().values()]
    if hasattr(model, "get_weights"):  # Keras
        return [weight.tobytes() for weight in model.get_weights()]
    if hasattr(model, "trainable_variables"):  # TensorFlow
        return [variable.numpy().tobytes() for variable in model.trainable_variables]
    parameters = getattr(model, "model", model).parameters()  # of Hugging Face's Trainer, or the module itself
    return [getattr(p, "to_local", lambda p=p: p)().detach().numpy().tobytes() for p in parameters]


def watch(path):
    def at_return(frame, event, _):
        if event == "return":
            digest = hashlib.sha256(b"".join(parameters_of(frame.f_locals))).hexdigest()
            rank = next((os.environ[name] for name in RANKS if name in os.environ), "0")
            print(f"replica {digest} of rank {rank}", flush=True)
        return at_return

    def at_call(frame, event, _):
        code = frame.f_code
        return at_return if code.co_name == "main" and os.path.abspath(code.co_filename) == path else None

    sys.settrace(at_call)


if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(program)
    watch(program)
    runpy.run_path(program, run_name="__main__")
