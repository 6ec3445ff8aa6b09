// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/sections.h"
#include "compll/ops/coding.h"

namespace casync::compll {

/// Returns true if the size of a payload depends on its elements: encoded_bound() is the most that it may be, and
/// info().bits_per_element is that of a Gaussian.
bool size_varies(const Codec& codec);

/// Makes a codec of one whose payloads are `image`s: the same, but each section of a payload is coded as `codings`
/// says, so that its size depends on the elements. `image` is part of `plain`.
std::unique_ptr<Codec> make_coded_codec(std::unique_ptr<Codec> plain, const SectionedPayload& image,
                                        std::vector<Coding> codings);

/// The same where `codings` has any; else `plain` itself.
template <class Plain>
std::unique_ptr<Codec> coded_where_asked(std::unique_ptr<Plain> plain, std::vector<Coding> codings) {
  const SectionedPayload& image = *plain;
  for (const Coding coding : codings) {
    if (coding != Coding::kPlain) return make_coded_codec(std::move(plain), image, std::move(codings));
  }
  return plain;
}

}  // namespace casync::compll
