// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace casync::tools {

/// Two runs side by side, from what report_numbers() says of each: `terms` of a step, and `gradients` by name, those of
/// `here` first. A value is null if that run does not have it, and a difference (here - there) if either is null.
/// docs/report.md describes the fields.
nlohmann::ordered_json beside_json(const nlohmann::ordered_json& here, const nlohmann::ordered_json& there);

/// The terms, and the gradients that differ most, as a table.
std::string beside_text(const nlohmann::ordered_json& beside);

}  // namespace casync::tools
