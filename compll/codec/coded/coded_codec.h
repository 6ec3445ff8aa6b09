// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
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

/// A codec that can leave out the equal entries at the ends of sections, which a coding writes in a few bytes. Entries
/// that are not stored have undefined contents.
///
/// Threads: any. Allocates nothing.
class HeadsCodec {
 public:
  /// Does as Codec::encode(), or as encode_sum() if there is a scale, and says how many entries of each section it has
  /// stored.
  virtual Encoded encode_heads(const float* in, std::optional<float> scale, Elements n, Residual residual,
                               const EncodeContext& context, std::byte* payload, StoredEntries& stored) const = 0;
  /// Returns the number of entries of a list that decoding must read, and stores those of them that are not there.
  /// Stores all entries of sections that are read for another reason. kAllListed: the payload is complete.
  virtual Elements complete(std::byte* payload, Elements n, StoredEntries& stored) const = 0;
  /// Decodes a payload that complete() has returned `listed` of: out = it, or out += it.
  virtual void decode_heads(ConstView payload, Elements n, Elements listed, float* out, bool adds) const = 0;
  /// Codec::merge() of such payloads, `listed` having a number for each contribution. `stored` null: it makes a
  /// complete payload; else `second` has no other sections, and it may say that some entries are not stored. Empty:
  /// codes are not sorted lists, and it has to be done by complete payloads.
  virtual std::optional<Encoded> merge_heads(std::span<const Contribution> contributions,
                                             std::span<const Elements> listed, Elements n, float scale,
                                             const Codec& second, Residual residual, const EncodeContext& context,
                                             std::byte* payload, StoredEntries* stored) const = 0;

 protected:
  ~HeadsCodec() = default;
};

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
