// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/none.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

// The terms of one merge; where `coded` is empty the contribution is raw.
struct Terms {
  std::vector<std::vector<float>> raw;
  std::vector<Coded> coded;

  std::vector<Contribution> contributions() const {
    std::vector<Contribution> all;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      all.push_back(coded[i].payload.empty() ? Contribution{{}, raw[i].data()}
                                             : Contribution{coded[i].view(), nullptr});
    }
    return all;
  }
};

// `raw_at`: which rank's contribution is raw; beyond the last: none.
Terms make_terms(const Codec& codec, std::size_t count, std::size_t raw_at, Elements n) {
  Terms terms;
  for (std::size_t i = 0; i < count; ++i) {
    terms.raw.push_back(laplace(n, static_cast<std::uint32_t>(100 + i)));
    terms.coded.push_back(i == raw_at ? Coded{} : encode(codec, terms.raw.back()));
  }
  return terms;
}

Coded room(const Codec& codec, Elements n) {
  Coded coded;
  coded.payload.resize(codec.encoded_bound(n));
  coded.residual.resize(std::max<Elements>(codec.info().states, 1) * n);
  return coded;
}
Residual kept(std::span<const float> residual, Coded& coded, Elements n) {
  return {residual.empty() ? nullptr : residual.data(), coded.residual.data(), n};
}

/// Cuts the payload to the size that its codec returned.
void keep(const Codec& codec, const Encoded& encoded, Coded& coded) {
  CHECK((size_varies(codec) ? encoded.size <= coded.payload.size() : encoded.size == coded.payload.size()));
  coded.payload.resize(std::min(encoded.size, coded.payload.size()));
  coded.finite = encoded.finite;
}

// The same by the definition: decode each, add in order, scale, add the residual, encode.
Coded one_after_another(const Codec& codec, const Terms& terms, float scale, const Codec& second,
                        std::span<const float> residual, Elements n) {
  std::vector<float> sum(n);
  for (std::size_t i = 0; i < terms.raw.size(); ++i) {
    const std::vector<float> term = terms.coded[i].payload.empty() ? terms.raw[i] : decode(codec, terms.coded[i], n);
    for (Elements k = 0; k < n; ++k) sum[k] = i == 0 ? term[k] : sum[k] + term[k];
  }
  for (float& value : sum) value *= scale;
  Coded coded = room(second, n);
  keep(second, second.encode_sum(sum.data(), 1, n, kept(residual, coded, n), {}, coded.payload.data()), coded);
  return coded;
}

Coded merged(const Codec& codec, const Terms& terms, float scale, const Codec& second, std::span<const float> residual,
             Elements n) {
  Coded coded = room(second, n);
  const std::vector<Contribution> contributions = terms.contributions();
  const Encoded encoded =
      codec.merge(contributions, n, scale, second, kept(residual, coded, n), {}, coded.payload.data());
  keep(second, encoded, coded);
  return coded;
}

}  // namespace

TEST_CASE("merge: the bytes of decoding, adding, scaling and encoding one after the other") {
  for (Elements n : {Elements{0}, Elements{1}, Elements{33}, Elements{4099}, Elements{65537}}) {
    const std::vector<float> residual = gaussian(n, 50);
    for (const auto& first : all_codecs()) {
      const Terms terms = make_terms(*first, 3, 1, n);
      for (const auto& second : all_codecs()) {
        INFO(title(*first) << " into " << title(*second) << ", n " << n);
        const Coded expected = one_after_another(*first, terms, 1.0f / 3, *second, residual, n);
        const Coded got = merged(*first, terms, 1.0f / 3, *second, residual, n);
        CHECK((got.payload == expected.payload));
        CHECK(same_bytes(got.residual, expected.residual));
        CHECK(got.finite == expected.finite);
      }
    }
  }
}

TEST_CASE("merge: any number of contributions, the raw one anywhere or nowhere") {
  const Elements n = 5000;
  for (const std::string& name : codec_names()) {
    const auto codec = codec_of(name);
    for (std::size_t count : {1, 2, 4, 5, 8, 9, 16, 17, 33}) {
      for (std::size_t raw_at : {std::size_t{0}, count / 2, count - 1, count}) {
        INFO(name << ", " << count << " contributions, raw at " << raw_at);
        const Terms terms = make_terms(*codec, count, raw_at, n);
        const Coded expected = one_after_another(*codec, terms, 0.25f, *codec, {}, n);
        const Coded got = merged(*codec, terms, 0.25f, *codec, {}, n);
        CHECK((got.payload == expected.payload));
        CHECK(same_bytes(got.residual, expected.residual));
      }
    }
  }
}

TEST_CASE("merge: into the identity the payload may be the raw contribution's own memory") {
  const auto none = codec_of("none");
  for (const auto& [n, count] : {std::pair<Elements, std::size_t>{1, 3}, {4099, 3}, {4099, 33}, {1 << 22, 3}}) {
    for (const std::string& name : codec_names()) {
      INFO(name << ", n " << n << ", " << count << " contributions");
      const auto codec = codec_of(name);
      const std::size_t own = count * 2 / 3;
      Terms terms = make_terms(*codec, count, own, n);
      const Coded expected = one_after_another(*codec, terms, 1.0f / 3, *none, {}, n);
      const std::vector<Contribution> contributions = terms.contributions();
      auto* in_place = reinterpret_cast<std::byte*>(terms.raw[own].data());
      CHECK(codec->merge(contributions, n, 1.0f / 3, *none, {}, {}, in_place).finite);
      CHECK(std::memcmp(in_place, expected.payload.data(), expected.payload.size()) == 0);
    }
  }
}

TEST_CASE("merge: the greatest of each element, NaN first, also in the memory of a term") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto codec = make_greatest();
  std::vector<float> a = {1, -5, nan, 3, -infinity, -2}, b = {2, -7, 1, nan, -9, -3}, c = {0, -6, 4, 5, -infinity, -1};
  const ConstView view{reinterpret_cast<const std::byte*>(b.data()), b.size() * sizeof(float)};
  const Contribution terms[] = {{{}, a.data()}, {view}, {{}, c.data()}};
  const Encoded made = codec->merge(terms, a.size(), 1, *codec, {}, {}, reinterpret_cast<std::byte*>(c.data()));
  CHECK_FALSE(made.finite);
  CHECK(made.size == view.size);
  CHECK((std::isnan(c[2]) && std::isnan(c[3])));
  c[2] = c[3] = 0;
  CHECK(c == std::vector<float>{2, -5, 0, 0, -9, -1});
  CHECK(codec->info().name == kGreatestIdentity);
}

TEST_CASE("merge: a contribution that is not finite is reported") {
  const Elements n = 1000;
  for (const std::string& name : codec_names()) {
    const auto codec = codec_of(name);
    Terms terms = make_terms(*codec, 3, 1, n);
    terms.raw[0][7] = std::numeric_limits<float>::infinity();
    terms.coded[0] = encode(*codec, terms.raw[0]);
    std::vector<std::unique_ptr<Codec>> seconds = all_codecs();
    seconds.push_back(codec_of(name));
    for (const auto& second : seconds) {
      INFO(name << " into " << title(*second));
      const Coded got = merged(*codec, terms, 1, *second, {}, n);
      CHECK_FALSE(got.finite);
      CHECK(second->check(got.view(), n));
    }
  }
}

}  // namespace casync::compll
