# SPDX-License-Identifier: Apache-2.0
# The toolchain of the preset `aarch64`: Debian's cross compiler, the libraries that `tools/setup --with-aarch64` installs,
# and qemu for programs that the build or a test runs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# Cortex-A72 has no SVE: codecs run as on most servers, and qemu translates it quickly.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-cpu;cortex-a72)
set(CASYNC_DEPS_DIR ${CMAKE_CURRENT_LIST_DIR}/../.deps/aarch64)
