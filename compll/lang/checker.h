// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"
#include "compll/lang/tree.h"

namespace casync::compll {

/// Values of parameters that are known when a program is compiled: those that types are made of have to be, and take
/// their initial value where nothing is said here.
using KnownParameters = std::map<std::string, double, std::less<>>;

/// How known values are taken.
enum class Known : std::uint8_t {
  kExact,    ///< each names a parameter, which allows it
  kOffered,  ///< those that name none, or that it does not allow, are passed over; a required one takes some value
};

/// Resolves names, finds types, puts functions where they are called and branches into kSelect. What is wrong goes to
/// `diagnostics`; nothing is returned then.
std::optional<Program> check(const Tree& tree, const KnownParameters& known, Diagnostics& diagnostics,
                             Known how = Known::kExact);

}  // namespace casync::compll
