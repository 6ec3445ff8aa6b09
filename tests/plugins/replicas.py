# SPDX-License-Identifier: Apache-2.0
"""Runs an example, and prints a digest of its model's parameters when its main() returns: `replica 5f3a... of rank 1`.

usage: replicas.py EXAMPLE.py

An example prints what its user wants to know, and this is not a part of it: so main()'s variables are looked at from here,
at the end of a main() whose text got one more line. A trace function would be called at each call of any function, which
takes up to a third of a training.
"""

import ast
import hashlib
import os
import sys
import types

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


def print_digest(variables):
    digest = hashlib.sha256(b"".join(parameters_of(variables))).hexdigest()
    rank = next((os.environ[name] for name in RANKS if name in os.environ), "0")
    print(f"replica {digest} of rank {rank}", flush=True)


def run(path):
    """As Python runs a program, with `finally: print_digest(locals())` around the body of main()."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    (main,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    (look,) = ast.parse("_print_digest(locals())").body
    for node in ast.walk(look):
        node.lineno = node.end_lineno = main.end_lineno  # the example's own lines keep their numbers
    main.body = [ast.Try(body=main.body, handlers=[], orelse=[], finalbody=[look])]
    program = types.ModuleType("__main__")
    program.__file__, program._print_digest = path, print_digest
    sys.modules["__main__"] = program
    exec(compile(ast.fix_missing_locations(tree), path, "exec"), program.__dict__)


if __name__ == "__main__":
    program = os.path.abspath(sys.argv[1])
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(program)
    run(program)
