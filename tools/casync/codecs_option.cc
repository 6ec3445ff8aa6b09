// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codecs_option.h"

namespace casync::tools {
namespace {

/// "feedback=0", and neither "int4:block=64" nor a path.
bool is_parameter(const std::string& part) {
  return part.find('=') != std::string::npos && part.find_first_of(":/") == std::string::npos;
}

bool has_parameters(const std::string& codec) {
  const std::size_t slash = codec.rfind('/');
  return codec.find(':', slash == std::string::npos ? 0 : slash) != std::string::npos;
}

std::vector<std::string> codecs_from(const std::vector<std::string>& parts) {
  std::vector<std::string> codecs;
  for (const std::string& part : parts) {
    if (!codecs.empty() && is_parameter(part) && has_parameters(codecs.back())) {
      codecs.back() += "," + part;
    } else {
      codecs.push_back(part);
    }
  }
  return codecs;
}

}  // namespace

CLI::Option* add_codecs_option(CLI::App& command, std::vector<std::string>& codecs, const std::string& description) {
  const auto take = [&codecs](const std::vector<std::string>& parts) { codecs = codecs_from(parts); };
  return command.add_option_function<std::vector<std::string>>("--codecs", take, description)->delimiter(',');
}

}  // namespace casync::tools
