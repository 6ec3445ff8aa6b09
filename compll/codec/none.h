// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codec/codec.h"

namespace casync::compll {

/// The identity: the payload is the elements themselves.
std::unique_ptr<Codec> make_none();

/// The name of the identity that make_greatest() makes.
inline constexpr const char* kGreatestIdentity = "greatest";

/// The identity whose merge takes the greatest of each element, NaN if one is NaN, instead of the sum. All hops use
/// it, its scale is 1, and it keeps nothing.
std::unique_ptr<Codec> make_greatest();

}  // namespace casync::compll
