// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/this_machine.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/env.h"
#include "tools/casync/version.h"

namespace casync::tools {

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) == 0 && line.find(':') != std::string::npos) {
      return line.substr(std::min(line.size(), line.find(':') + 2));
    }
  }
  return "";
}

std::string processor_name() { return cpuinfo("model name"); }

std::vector<std::string> about_this_machine() {
  char host[256] = "?";
  ::gethostname(host, sizeof(host) - 1);
  return {std::string("casync ") + kVersion + ", ABI " + std::to_string(kAbi),
          "host " + std::string(host) + ", " + processor_name() + ", " +
              std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) + " cores, load average " +
              first_line_of("/proc/loadavg")};
}

std::vector<std::string> about_this_job(const std::string& what, const std::string& transport) {
  std::vector<std::string> about = about_this_machine();
  about.push_back(what + ", " + transport);
  if (const std::optional<std::string> link = env_text("CASYNC_LINK")) {
    about.push_back("PACED by CASYNC_LINK=" + *link + ": not the speed of this machine's network");
  } else if (transport.find("NET_DEVICES=lo ") != std::string::npos) {
    about.push_back("all ranks are on this machine: these are speeds of its memory and processors, not of a network");
  }
  return about;
}

}  // namespace casync::tools
