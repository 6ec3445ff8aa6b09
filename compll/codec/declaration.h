// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codec/codec.h"

namespace casync::compll {

/// `feedback`: 0 or 1.
CodecParameter feedback_parameter(bool initial);

/// InvalidArgument: the codec has no parameter of this name; with the nearest one, and all of them.
Status unknown_parameter(const CodecInfo& info, const std::string& name);

}  // namespace casync::compll
