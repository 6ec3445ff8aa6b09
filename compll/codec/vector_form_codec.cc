// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/vector_form_codec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/units.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/listed_sum.h"
#include "compll/codec/merge_whole.h"
#include "compll/codec/payload.h"
#include "compll/codec/sections.h"
#include "compll/codec/thread_workspace.h"
#include "compll/codec/tile_codec.h"
#include "compll/codec/tile_memory.h"

namespace casync::compll {
namespace {

ThreadWorkspace& workspace() { return ThreadWorkspace::of_this_thread(); }

template <class Byte>
using Pointers = std::array<Byte*, kMostSections>;

/// The functions that were generated for a program in vector form, with what they are called with: the sections of a
/// payload, the states, and memory of this thread.
class VectorFormFunctions {
 public:
  VectorFormFunctions(CodecInfo info, const GeneratedCodec& generated)
      : info_(std::move(info)), generated_(generated) {}

  const CodecInfo& info() const { return info_; }
  const GeneratedVectorForm& table() const { return generated_.vector_form; }

  /// A caller may give a residual to any codec that has no states instead.
  bool adds_residual() const { return info_.feedback || generated_.declares.state_count == 0; }

  decltype(GeneratedVectorForm::encode) encoder_of_sums() const {
    return table().merge != nullptr ? table().merge : table().encode;
  }
  bool is_of_list(std::size_t section) const { return (table().list_sections >> section & 1) != 0; }

  SectionPlaces places(Elements n) const {
    SectionPlaces at;
    for (std::uint32_t i = 0; i < generated_.section_count && n != 0; ++i) {
      at.add(generated_.sections[i].bits, entries(i, n));
    }
    return at;
  }

  GeneratedVector vector(Elements n, const EncodeContext& context) const {
    return {info_.values.data(), n, {context.seed, context.gradient, context.step, context.first}, &workspace()};
  }

  /// The program's own states lie after the residual, if there is one. None given: they begin anew.
  GeneratedStates states(Residual residual, Elements n) const {
    const std::uint32_t count = generated_.declares.state_count;
    if (count == 0) return {};
    const Elements first = info_.feedback ? residual.stride : 0;
    if (residual.in != nullptr) {
      return {residual.in + first, residual.out == nullptr ? nullptr : residual.out + first, residual.stride};
    }
    auto* anew = reinterpret_cast<float*>(workspace().take(count * n * sizeof(float)));
    for (std::uint32_t i = 0; i < count; ++i) std::fill_n(anew + i * n, n, generated_.declares.state_initial[i]);
    CASYNC_CHECK(residual.out == nullptr || residual.stride == n || count == 1);
    return {anew, residual.out == nullptr ? nullptr : residual.out + first, n};
  }

  template <class Byte>
  Pointers<Byte> pointers(const SectionPlaces& at, Byte* payload) const {
    Pointers<Byte> sections{};
    for (std::uint32_t i = 0; i < generated_.section_count; ++i) sections[i] = payload + at[i].begin;
    return sections;
  }

  void decode(ConstView payload, Elements n, float* out, Give how, Elements listed = kAllListed) const {
    if (n == 0) return;
    const SectionPlaces at = places(n);
    CASYNC_CHECK(payload.size == at.size());
    const Pointers<const std::byte> sections = pointers(at, payload.data);
    workspace().begin();
    GeneratedVector vector = this->vector(n, {});
    vector.most_listed = listed;
    table().decode(vector, sections.data(), out, how);
  }

  /// The sum of lists, in the workspace, valid while the memory taken there is kept. Empty: codes are not sorted lists.
  std::optional<ListedSum> sum_of_lists(std::span<const Contribution> contributions, std::span<const Elements> listed,
                                        Elements n) const {
    if (table().list == nullptr || n == 0) return std::nullopt;
    workspace().begin();
    using Term = ListedSum::Term;
    auto* const terms = reinterpret_cast<Term*>(workspace().take(contributions.size() * sizeof(Term)));
    ListedSum sum({terms, contributions.size()}, n, tile_memory(ListedSum::kMostMade));
    const SectionPlaces at = places(n);
    for (std::size_t i = 0; i < contributions.size(); ++i) {
      const Contribution& each = contributions[i];
      if (each.raw != nullptr) {
        sum.add(each.raw);
        continue;
      }
      CASYNC_CHECK(each.code.size == at.size());
      const Pointers<const std::byte> sections = pointers(at, each.code.data);
      GeneratedVector vector = this->vector(n, {});
      if (!listed.empty()) vector.most_listed = listed[i];
      if (!sum.add(table().list(vector, sections.data()))) return std::nullopt;
    }
    return sum;
  }

 private:
  Elements entries(std::uint32_t section, Elements n) const {
    switch (generated_.sections[section].over) {
      case GeneratedSection::Over::kTensor: return 1;
      case GeneratedSection::Over::kBlock: return ceil_div(n, info_.block);
      case GeneratedSection::Over::kElement: return n;
      case GeneratedSection::Over::kSized: break;
    }
    return table().sized(section, vector(n, {}));
  }

  CodecInfo info_;
  const GeneratedCodec& generated_;
};

class VectorFormCodec final : public Codec, public SectionedPayload, public HeadsCodec {
 public:
  VectorFormCodec(CodecInfo info, const GeneratedCodec& generated, StatisticsCheck check_statistics)
      : functions_(std::move(info), generated), check_statistics_(check_statistics) {}

  const CodecInfo& info() const override { return functions_.info(); }
  void prepare_thread() const override {
    if (functions_.table().list != nullptr) tile_memory(ListedSum::kMostMade);
  }
  Bytes encoded_bound(Elements n) const override { return places(n).size(); }

  Status check(ConstView payload, Elements n) const override {
    const SectionPlaces at = places(n);
    CASYNC_RETURN_IF_ERROR(at.check(layout(n), payload));
    if (check_statistics_ == nullptr) return Status::ok();
    Pointers<const std::byte> sections{};
    if (n != 0) sections = functions_.pointers(at, payload.data);
    return check_statistics_(sections.data(), ceil_div(n, info().block), says_finite(payload.data));
  }

  Encoded encode(const float* in, Elements n, Residual residual, const EncodeContext& context,
                 std::byte* payload) const override {
    workspace().begin();
    return encode_by(functions_.table().encode, Scaled{in}, n, residual, context, payload, nullptr);
  }
  Encoded encode_sum(const float* sum, float scale, Elements n, Residual residual, const EncodeContext& context,
                     std::byte* payload) const override {
    workspace().begin();
    return encode_by(functions_.encoder_of_sums(), Scaled{sum, scale}, n, residual, context, payload, nullptr);
  }
  Encoded encode_heads(const float* in, std::optional<float> scale, Elements n, Residual residual,
                       const EncodeContext& context, std::byte* payload, StoredEntries& stored) const override {
    workspace().begin();
    return encode_by(scale ? functions_.encoder_of_sums() : functions_.table().encode, Scaled{in, scale.value_or(1)}, n,
                     residual, context, payload, &stored);
  }

  void decode(ConstView payload, Elements n, float* out) const override {
    functions_.decode(payload, n, out, Give::kSet);
  }
  void decode_add(ConstView payload, Elements n, float* out) const override {
    functions_.decode(payload, n, out, Give::kAdd);
  }
  void decode_heads(ConstView payload, Elements n, Elements listed, float* out, bool adds) const override {
    functions_.decode(payload, n, out, adds ? Give::kAdd : Give::kSet, listed);
  }

  Encoded merge(std::span<const Contribution> contributions, Elements n, float scale, const Codec& second,
                Residual residual, const EncodeContext& context, std::byte* payload) const override {
    const std::optional<Encoded> made =
        merge_lists(contributions, {}, n, scale, second, residual, context, payload, nullptr);
    return made ? *made : merge_whole(*this, contributions, n, scale, second, residual, context, payload);
  }
  std::optional<Encoded> merge_heads(std::span<const Contribution> contributions, std::span<const Elements> listed,
                                     Elements n, float scale, const Codec& second, Residual residual,
                                     const EncodeContext& context, std::byte* payload,
                                     StoredEntries* stored) const override {
    return merge_lists(contributions, listed, n, scale, second, residual, context, payload, stored);
  }

  Elements complete(std::byte* payload, Elements n, StoredEntries& stored) const override {
    const SectionPlaces at = places(n);
    Elements listed = 0;
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      if (functions_.is_of_list(i)) listed = std::max(listed, stored[i]);
    }
    for (std::size_t i = 0; i < at.all().size(); ++i) {
      const Elements needed = functions_.is_of_list(i) ? listed : at[i].count;
      if (stored[i] < needed) repeat_last_entry(at[i], stored[i], needed, payload);
      stored[i] = needed;
    }
    return functions_.table().list_sections == 0 ? kAllListed : listed;
  }

  void result(const float* decoded, Elements n, Residual state, const EncodeContext& context,
              float* out) const override {
    CASYNC_CHECK(functions_.table().result != nullptr);
    if (n == 0) return;
    workspace().begin();
    functions_.table().result(functions_.vector(n, context), decoded, functions_.states(state, n), out);
  }

  SectionPlaces places(Elements n) const override { return functions_.places(n); }

  PayloadLayout layout(Elements n) const override { return layout_of(info(), n, info().block, encoded_bound(n)); }

 private:
  /// Encodes `source` plus the residual. Memory taken from the workspace stays taken. `stored` null: all entries are.
  Encoded encode_by(decltype(GeneratedVectorForm::encode) encoder, Scaled source, Elements n, Residual residual,
                    const EncodeContext& context, std::byte* payload, StoredEntries* stored) const {
    const SectionPlaces at = places(n);
    for (std::size_t i = 0; i < at.all().size() && stored != nullptr; ++i) (*stored)[i] = at[i].count;
    if (n == 0) {
      write_header(layout(n), true, payload);
      return {kHeaderBytes, true};
    }
    float* const left = functions_.adds_residual() ? residual.out : nullptr;
    source.residual = functions_.adds_residual() ? residual.in : nullptr;
    // The encoder's sum lies where the residual will be, or in the workspace; null: it is the input itself.
    float* sum = left;
    if (sum == nullptr && !source.is_plain()) sum = reinterpret_cast<float*>(workspace().take(n * sizeof(float)));
    at.write_gaps(payload);
    const Pointers<std::byte> sections = functions_.pointers(at, payload);
    GeneratedVector vector = functions_.vector(n, context);
    vector.stored = stored == nullptr ? nullptr : stored->data();
    const bool finite = encoder(vector, source, sum, functions_.states(residual, n), sections.data());
    write_header(layout(n), finite, payload);
    if (left != nullptr) {
      const Elements listed = stored == nullptr ? kAllListed : complete(payload, n, *stored);
      functions_.decode({payload, at.size()}, n, left, Give::kSubtract, listed);
    }
    return {at.size(), finite};
  }

  /// Merges codes that are sorted lists; `listed` empty: of complete payloads. Empty: they are none.
  std::optional<Encoded> merge_lists(std::span<const Contribution> contributions, std::span<const Elements> listed,
                                     Elements n, float scale, const Codec& second, Residual residual,
                                     const EncodeContext& context, std::byte* payload, StoredEntries* stored) const {
    std::optional<ListedSum> sum = functions_.sum_of_lists(contributions, listed, n);
    if (!sum) return std::nullopt;
    if (const auto* tiles = dynamic_cast<const TileCodec*>(&second)) {
      return tiles->encode_sums(*sum, 1, n, scale, residual, context, payload);
    }
    const auto* const other = dynamic_cast<const VectorFormCodec*>(&second);
    if (other == nullptr) return std::nullopt;
    const Scaled source{nullptr, scale, nullptr, &*sum};
    return other->encode_by(other->functions_.encoder_of_sums(), source, n, residual, context, payload, stored);
  }

  const VectorFormFunctions functions_;
  const StatisticsCheck check_statistics_;
};

}  // namespace

std::unique_ptr<Codec> make_vector_form_codec(CodecInfo info, const GeneratedCodec& generated,
                                              StatisticsCheck check_statistics) {
  return coded_where_asked(std::make_unique<VectorFormCodec>(std::move(info), generated, check_statistics),
                           codings_of(generated));
}

}  // namespace casync::compll
