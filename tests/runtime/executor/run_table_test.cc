// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/run_table.h"

#include <catch2/catch.hpp>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("run table: a run is found by its key and by the index that it gets") {
  RunTable table;
  std::vector<std::unique_ptr<GradientRun>> gradients;
  std::vector<GradientRun*> all;
  for (const char* name : {"weight", "bias"}) {
    gradients.push_back(test::make_weight(name, 1, 0));
    all.push_back(gradients.back().get());
  }
  CHECK(table.find(all[0]->key) == nullptr);
  CHECK(table.check(all).is_ok());
  table.add({&all[0], 1});
  table.add({&all[1], 1});
  for (GradientRun* run : all) {
    CHECK(table.find(run->key) == run);
    CHECK(&table.at(run->tasks.cookie(TaskId{3}) >> 32) == run);
  }
  CHECK(all[1]->tasks.cookie(TaskId{3}) == (std::uint64_t{1} << 32 | 3));
  CHECK(table.gradients().empty());
  table.own(std::move(gradients));
  REQUIRE(table.gradients().size() == 2);
  CHECK(table.gradients()[1].get() == all[1]);
  CHECK(table.release().size() == 2);
  CHECK(table.gradients().empty());
}

TEST_CASE("run table: a key that is taken is an error with the gradient's name") {
  RunTable table;
  const auto weight = test::make_weight("weight", 1, 0);
  Result<Declared> declared = declare_gradient(Plan{}, {"other", DType::kFloat32, {100}, 0}, Topology::flat(1));
  declared->key = weight->key;
  const auto other = std::move(make_run(*declared, Topology::flat(1), 0, 0)).value();
  GradientRun* const first[] = {weight.get()};
  table.add(first);
  GradientRun* const second[] = {other.get()};
  CHECK(table.check(second).text() == "InvalidArgument: gradient other has the same 64-bit hash as another: rename it");
}
