// SPDX-License-Identifier: Apache-2.0
//
// A library with NVRTC's interface that misbehaves as FAKE_NVRTC says: `early crash` (asked for its version), `crash`,
// `crash once PATH` (until PATH is there), `hang`, `exit`, `refuse`, `unknown option`, `nonsense`, `cut off`, `other
// kernel`. Otherwise it makes the object file of a kernel `small`.
#include <elf.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#define CASYNC_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

std::string wish() {
  const char* text = std::getenv("FAKE_NVRTC");
  return text == nullptr ? "" : text;
}

[[noreturn]] void crash() {
  std::fputs("about to crash\n", stderr);
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
  std::abort();
}

/// Returns an object file of a GPU with a section of this name.
std::string object_with(const std::string& section) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shoff = sizeof header;
  header.e_shnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + std::string(sizeof(Elf64_Shdr), '\0') + section + '\0';
}

std::string code() {
  if (wish() == "nonsense") return "this is no machine code";
  const std::string whole = object_with(wish() == "other kernel" ? ".text.large" : ".text.small");
  return wish() == "cut off" ? whole.substr(0, 100) : whole;
}

}  // namespace

CASYNC_EXPORT int nvrtcVersion(int* major, int* minor) {
  if (wish() == "early crash") crash();
  *major = 13, *minor = 0;
  return 0;
}
CASYNC_EXPORT int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                                     const char* const*) {
  *program = program;
  return 0;
}
CASYNC_EXPORT int nvrtcCompileProgram(void*, int, const char* const*) {
  const std::string once = "crash once ";
  if (wish() == "crash") crash();
  if (wish() == "exit") std::_Exit(3);
  if (wish() == "hang") ::sleep(1000);
  if (wish().starts_with(once)) {
    const std::string path = wish().substr(once.size());
    const bool again = ::access(path.c_str(), F_OK) == 0;
    std::ofstream(path, std::ios::app) << "called\n";
    if (!again) crash();
  }
  return wish() == "refuse" ? 6 : wish() == "unknown option" ? 5 : 0;
}
CASYNC_EXPORT int nvrtcGetProgramLogSize(void*, std::size_t* size) {
  *size = 9;
  return 0;
}
CASYNC_EXPORT int nvrtcGetProgramLog(void*, char* log) {
  std::memcpy(log, "bad text", 9);
  return 0;
}
CASYNC_EXPORT int nvrtcGetCUBINSize(void*, std::size_t* size) {
  *size = code().size();
  return 0;
}
CASYNC_EXPORT int nvrtcGetCUBIN(void*, char* cubin) {
  const std::string bytes = code();
  std::memcpy(cubin, bytes.data(), bytes.size());
  return 0;
}
CASYNC_EXPORT int nvrtcGetPTXSize(void*, std::size_t* size) {
  *size = 0;
  return 0;
}
CASYNC_EXPORT int nvrtcGetPTX(void*, char*) { return 0; }
CASYNC_EXPORT int nvrtcDestroyProgram(void**) { return 0; }
CASYNC_EXPORT const char* nvrtcGetErrorString(int) { return "an error"; }
