// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codec/codec.h"

namespace casync::compll::test {

/// Names the first thing that is said otherwise of a compiled codec than of its meaning; "" if all is said alike. The
/// initial value and the range of a parameter are not compared: the value of one that types are made of is compiled in.
std::string info_difference(const CodecInfo& meaning, const CodecInfo& made);

}  // namespace casync::compll::test
