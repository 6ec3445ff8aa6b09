// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include "base/units.h"
#include "proto/text_diagnostics.h"

namespace casync::proto {

/// The largest text that is read.
constexpr Bytes kMostTextBytes = 16_MiB;

/// The place of each field of a message in its text.
using Places = google::protobuf::TextFormat::ParseInfoTree;

/// Reads the text of `diagnostics` into `message` and records the place of each field in `places`.
/// Names of an enum's values may have any case. Every unknown field is a mistake, with the field that was probably
/// meant; the first mistake of the syntax is the last one found, because the text after it has no sure meaning. Nesting
/// beyond 64 levels and texts over kMostTextBytes are refused. Returns true when there was no mistake; else `message`
/// has the fields read until then.
bool read_text(google::protobuf::Message* message, Places* places, TextDiagnostics* diagnostics);

}  // namespace casync::proto
