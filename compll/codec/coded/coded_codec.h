// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compll/codec/codec.h"
#include "compll/codec/sections.h"
#include "compll/ops/coding.h"

namespace casync::compll {

/// The coding of a codec with coded sections, for kernels that make and read payloads without it, and for those that
/// code.
///
/// Threads: any. Allocates nothing.
class PayloadCoding {
 public:
  /// The codec without coding. Its payloads of n elements have encoded_bound(n) bytes.
  virtual const Codec& plain() const = 0;
  /// The sections of such a payload, and how a coded one has each of them.
  virtual SectionPlaces places(Elements n) const = 0;
  virtual std::span<const Coding> codings() const = 0;
  /// The part of Codec::check() that looks at no section. DataLoss: the size or the header is none of a payload.
  virtual Status check_head(ConstView payload, Elements n) const = 0;

 protected:
  ~PayloadCoding() = default;
};

/// The coding of a codec; null: it has none.
const PayloadCoding* coding_of(const Codec& codec);

/// The codec whose payloads kernels make: that without coding.
inline const Codec& without_coding(const Codec& codec) {
  const PayloadCoding* const coding = coding_of(codec);
  return coding == nullptr ? codec : coding->plain();
}

/// Returns true if the size of a payload depends on its elements: encoded_bound() is the most that it may be, and
/// info().bits_per_element is that of a Gaussian.
inline bool size_varies(const Codec& codec) { return coding_of(codec) != nullptr; }

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
