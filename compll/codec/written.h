// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "compll/ops/generated.h"

namespace casync::compll {

/// The codecs of compll/codecs, compiled: those that encode gradients, in the order docs/codecs.md presents them, those
/// that exchange in rounds, those that encode versions of weights, those that carry exchanges of rounds, and the one
/// that rounds what sessions keep.
std::span<const GeneratedCodec* const> written_codecs();
std::span<const GeneratedCodec* const> written_rounds();
std::span<const GeneratedCodec* const> written_patches();
std::span<const GeneratedCodec* const> written_for_exchanges();
std::span<const GeneratedCodec* const> written_for_states();

/// The source of one of them, of any kind; empty: there is none of this name.
std::string_view written_source(std::string_view name);

}  // namespace casync::compll
