// SPDX-License-Identifier: Apache-2.0
//
// A yardstick gives the same bytes as the codec that is compared with it.
#include <catch2/catch.hpp>

#include "tests/bench/codecs/yardsticks/yardstick.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

struct Made {
  Coded coded, merged;
  std::vector<float> decoded, added;
};

Made made_by(const Codec& codec, const std::vector<float>& values) {
  const Elements n = values.size();
  const std::vector<float> before = gaussian(n, 3);
  Made made{encode(codec, values, before), {}, {}, laplace(n, 4)};
  made.decoded = decode(codec, made.coded, n);
  codec.decode_add(made.coded.view(), n, made.added.data());
  made.merged = made.coded;
  const Contribution terms[] = {{made.coded.view(), nullptr}, {{}, values.data()}, {made.coded.view(), nullptr}};
  made.merged.finite =
      codec
          .merge(terms, n, 0.5f, codec, {before.data(), made.merged.residual.data(), n}, {}, made.merged.payload.data())
          .finite;
  return made;
}

void check_same(const Coded& a, const Coded& b) {
  CHECK(a.payload == b.payload);
  CHECK(a.finite == b.finite);
  if (a.finite) CHECK(same_bytes(a.residual, b.residual));
}

}  // namespace

TEST_CASE("yardsticks: the generated codecs write their bytes, on every instruction set") {
  std::size_t yardsticks = 0;
  for (const auto& codec : all_codecs()) {
    const std::unique_ptr<Codec> yardstick = make_yardstick(codec->info());
    if (yardstick == nullptr) continue;
    ++yardsticks;
    for (const Elements n : sizes()) {
      for (const Input& input : inputs(n)) {
        for (const std::string& set : instruction_sets()) {
          const UseInstructionSet use(set);
          INFO(title(*codec) << ", " << input.name << ", n " << n << ", " << set);
          const Made generated = made_by(*codec, input.values), by_hand = made_by(*yardstick, input.values);
          check_same(generated.coded, by_hand.coded);
          check_same(generated.merged, by_hand.merged);
          if (!generated.coded.finite) continue;
          CHECK(same_bytes(generated.decoded, by_hand.decoded));
          CHECK(same_bytes(generated.added, by_hand.added));
        }
      }
    }
  }
  CHECK(yardsticks == 16);
}

}  // namespace casync::compll
