// SPDX-License-Identifier: Apache-2.0
//
// Runs of random programs fail for all that keeps programs from being compared.
#include "tests/compll/random_programs/random_run.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <utility>

namespace casync::compll::test {
namespace {

using Compare = std::function<std::string(std::uint64_t seed)>;

/// Compiles nothing.
class Comparing final : public Target {
 public:
  explicit Comparing(Compare compare) : compare_(std::move(compare)) {}

  Result<std::string> generate(const Program&, const Source&) const override { return std::string("text"); }
  std::string scope() const override { return "::"; }
  Status load(std::span<const Candidate>, std::uint64_t, const std::string&) override { return Status::ok(); }
  bool is_by_tiles(std::size_t) const override { return false; }
  std::string difference(const Candidate& candidate, std::size_t) override { return compare_(candidate.seed); }

 private:
  Compare compare_;
};

/// Returns the exit code of a run of the programs 1, 2 and 3, all in one batch.
int run_by(const Compare& compare) {
  RunOptions options;
  options.count = 3;
  Comparing target(compare);
  return run(options, target);
}

}  // namespace

TEST_CASE("random run: it fails where a program differs, and where the process ends before all are compared") {
  CHECK(run_by([](std::uint64_t) { return ""; }) == 0);
  CHECK(run_by([](std::uint64_t seed) { return seed == 2 ? "another byte" : ""; }) == 1);
  for (const std::uint64_t last : {1, 3}) {
    for (const int code : {0, 1, 77}) {
      INFO("exit code " << code << " in program " << last);
      CHECK(run_by([&](std::uint64_t seed) {
              if (seed == last) ::_exit(code);
              return "";
            }) == 1);
    }
    CHECK(run_by([&](std::uint64_t seed) {
            if (seed == last) ::raise(SIGKILL);
            return "";
          }) == 1);
  }
}

}  // namespace casync::compll::test
