// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/unique_fd.h"
#include "tools/casync/doctor/finding.h"
#include "tools/casync/this_machine.h"

namespace casync::tools {
namespace {

/// The instruction sets that decide which kernels run.
std::string instruction_sets() {
  const std::string x86 = cpuinfo("flags"), arm = cpuinfo("Features");
  std::istringstream words(x86.empty() ? arm : x86);
  std::string found;
  for (std::string word; words >> word;) {
    for (const char* known : {"sse4_1", "sse4_2", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_bf16",
                              "avx512vl", "asimd", "asimdhp", "sve", "sve2", "bf16"}) {
      if (word == known) found += (found.empty() ? "" : " ") + word;
    }
  }
  return found.empty() ? "none beyond the baseline" : found;
}

std::string mebibytes(unsigned long long bytes) { return std::to_string(bytes >> 20) + " MiB"; }

Finding limit(const char* name, __rlimit_resource resource, rlim_t wanted, const std::string& hint) {
  rlimit value{};
  ::getrlimit(resource, &value);
  const bool endless = value.rlim_cur == RLIM_INFINITY;
  const bool bytes = resource == RLIMIT_MEMLOCK;
  const bool enough = endless || value.rlim_cur >= wanted;
  const std::string text = endless ? "unlimited" : bytes ? mebibytes(value.rlim_cur) : std::to_string(value.rlim_cur);
  return {"machine", name, enough ? State::kOk : State::kWarn, text, enough ? "" : hint};
}

/// Makes a shared-memory object the way a transport does; it is gone when this returns.
Finding shared_memory() {
  Finding finding{"machine", "shared memory", State::kOk, "", ""};
  struct statvfs room {};
  if (::statvfs("/dev/shm", &room) == 0) {
    const auto free = static_cast<unsigned long long>(room.f_bavail) * room.f_frsize;
    finding.value = mebibytes(free) + " free in /dev/shm";
    if (free < (64ull << 20)) {
      finding.state = State::kWarn;
      finding.hint = "transport ucx:shm needs some; in a container, start it with --shm-size=1g";
    }
  }
  const std::string name = "/casync-doctor-" + std::to_string(::getpid());
  const UniqueFd object(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0600));
  if (!object.open()) {
    finding.state = State::kWarn;
    finding.hint = std::string("shm_open failed: ") + std::strerror(errno) + "; use transport ucx:tcp";
  } else {
    ::shm_unlink(name.c_str());
  }
  return finding;
}

}  // namespace

void look_at_machine(Findings& findings) {
  utsname system{};
  ::uname(&system);
  const auto note = [&](const char* name, const std::string& value) {
    findings.push_back({"machine", name, State::kNote, value, ""});
  };
  note("host", system.nodename);
  note("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  note("processor", processor_name());
  note("cores", std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)));
  note("instruction sets", instruction_sets());
  const auto pages = static_cast<unsigned long long>(::sysconf(_SC_PHYS_PAGES));
  note("memory", mebibytes(pages * static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE))));
  note("load average", first_line_of("/proc/loadavg"));
  findings.push_back(limit("locked memory", RLIMIT_MEMLOCK, 1 << 20, "RDMA pins memory: raise it with `ulimit -l`"));
  findings.push_back(
      limit("open files", RLIMIT_NOFILE, 1024, "each pair of ranks needs some: raise it with `ulimit -n`"));
  findings.push_back(shared_memory());
}

}  // namespace casync::tools
