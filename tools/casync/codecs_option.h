// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace casync::tools {

/// Adds --codecs, a list of codecs with commas between them. Commas are between a codec's parameters, too: what is no
/// name but a `key=number` belongs to the codec ahead of it. `codecs` is borrowed until the command line is parsed.
CLI::Option* add_codecs_option(CLI::App& command, std::vector<std::string>& codecs, const std::string& description);

}  // namespace casync::tools
