# SPDX-License-Identifier: Apache-2.0
"""casync._library is casync.h word by word: ctypes would pass on an argument that it lacks, or has in another width."""

import ctypes
import pathlib
import re

import pytest

from casync import _library, errors, session

HEADER = pathlib.Path(__file__).parents[2] / "plugins/c_api/casync.h"
STRUCTS = {
    "casync_parameter": _library.Parameter,
    "casync_session_options": _library.SessionOptions,
    "casync_submission": _library.Submission,
}
NUMBERS = {
    "casync_dtype": ctypes.c_int,
    "casync_handle": ctypes.c_uint64,
    "casync_log_level": ctypes.c_int,
    "casync_status": ctypes.c_int,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    **STRUCTS,
}
FUNCTIONS = {
    "casync_completion": _library.Completion,
    "casync_store_get": _library.StoreGet,
    "casync_store_set": _library.StoreSet,
}
OPAQUE = ("casync_codec", "casync_session", "float", "void")  # by their addresses


def text():
    return re.sub(r"/\*.*?\*/|^#.*?$", "", HEADER.read_text(), flags=re.DOTALL | re.MULTILINE)


def type_of(declaration):
    """The type in ctypes of `const char* name`."""
    words = re.sub(r"\bconst\b|\w+$", "", declaration.strip()).split("*")
    name, stars = words[0].strip(), len(words) - 1
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name == "char" or name in OPAQUE:
        pointer = ctypes.c_char_p if name == "char" else ctypes.c_void_p
        return ctypes.POINTER(pointer) if stars == 2 else pointer
    return ctypes.POINTER(NUMBERS[name]) if stars == 1 else NUMBERS[name]


def types_of(arguments):
    return [] if arguments.strip() == "void" else [type_of(argument) for argument in arguments.split(",")]


FOUND = re.findall(r"^(casync_status|void|uint32_t|const char\*) (casync_\w+)\(([^)]*)\);", text(), re.MULTILINE)


def test_every_function_of_the_header_is_known_and_no_other():
    known = {**_library._STATUS_FUNCTIONS, **_library._OTHER_FUNCTIONS}
    assert len(FOUND) > 30 and {name for _, name, _ in FOUND} == set(known)


@pytest.mark.parametrize("result,name,arguments", FOUND, ids=[name for _, name, _ in FOUND])
def test_a_function_has_the_header_s_arguments(result, name, arguments):
    if result == "casync_status":
        assert _library._STATUS_FUNCTIONS[name] == types_of(arguments)
    else:
        wanted = None if result == "void" else type_of(f"{result} it")
        assert _library._OTHER_FUNCTIONS[name] == (wanted, types_of(arguments))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_callback_has_the_header_s_arguments(name):
    result, arguments = re.search(rf"typedef (\w+) \(\*{name}\)\(([^)]*)\);", text()).groups()
    assert FUNCTIONS[name]._restype_ == (None if result == "void" else NUMBERS[result])
    assert list(FUNCTIONS[name]._argtypes_) == types_of(arguments)


@pytest.mark.parametrize("name", STRUCTS)
def test_a_struct_has_the_header_s_fields(name):
    body = re.search(rf"struct {name} {{(.*?)}}", text(), re.DOTALL)[1]
    fields = [field.strip() for field in body.split(";") if field.strip()]
    assert STRUCTS[name]._fields_ == [(re.search(r"\w+$", field)[0], type_of(field)) for field in fields]


def test_numbers_have_the_header_s_names():
    values = {name: int(value) for name, value in re.findall(r"\bCASYNC_(\w+) = (\d+)", text())}
    for name, value in _library.DTYPES.items():
        assert values[name.upper()] == value
    for value, name in enumerate(session._EXCHANGED):
        assert values[name.upper()] == value
    assert (values["CPU"], values["CUDA"]) == (_library.CPU, _library.CUDA)
    assert re.search(r"#define CASYNC_ABI_VERSION (\d+)", HEADER.read_text())[1] == str(_library.ABI_VERSION)
    for name in ("INVALID_ARGUMENT", "PLAN_ERROR", "PEER_FAILURE", "TIMEOUT", "DATA_LOSS", "UNAVAILABLE", "COMPILE_ERROR"):
        assert type(errors.from_status(values[name], "why")).__name__ == name.title().replace("_", "")
