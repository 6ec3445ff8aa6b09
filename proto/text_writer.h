// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace casync::proto {

/// The message in text format, one line for each of its own fields, so that people can read, sort and diff it.
/// Numbers read back to the same bits.
std::string text_of(const google::protobuf::Message& message);

}  // namespace casync::proto
