// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compll/lang/program.h"
#include "compll/lang/syntax/diagnostic.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

/// Values of parameters that are known when a program is compiled: types are made of them. Parameters without a value
/// here take their initial value.
using KnownParameters = std::map<std::string, double, std::less<>>;

/// The treatment of known values.
enum class Known : std::uint8_t {
  kExact,    ///< each names a parameter, which allows it
  kOffered,  ///< values that name no parameter, or that it does not allow, are ignored; a required one takes some value
};

/// Resolves names, finds types, puts functions where they are called and branches into kSelect. Mistakes go to
/// `diagnostics`; nothing is returned then.
std::optional<Program> check(const Tree& tree, const KnownParameters& known, Diagnostics& diagnostics,
                             Known how = Known::kExact);

}  // namespace casync::compll
