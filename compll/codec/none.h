// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "compll/codec/codec.h"

namespace casync::compll {

/// The identity: the payload is the elements themselves.
std::unique_ptr<Codec> make_none();

}  // namespace casync::compll
