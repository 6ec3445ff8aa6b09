// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace casync::tools {

/// The first line of a file, "" when it cannot be read: how the kernel tells most things.
std::string first_line_of(const std::string& path);

/// The value of the first line of /proc/cpuinfo that begins with `key`.
std::string cpuinfo(const std::string& key);

/// As /proc/cpuinfo says it.
std::string processor_name();

/// The conditions of a measurement, a line each: version, host, processor, cores, load.
std::vector<std::string> about_this_machine();
/// And of the job: `what` runs on so many ranks, over which network.
std::vector<std::string> about_this_job(const std::string& what, const std::string& transport);

}  // namespace casync::tools
