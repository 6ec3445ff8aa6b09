// SPDX-License-Identifier: Apache-2.0
//
// A codec of rounds as the executor sees it: turns in order, each with the ranks' sums of earlier exchanges.
#include <array>
#include <catch2/catch.hpp>

#include "runtime/device/host/host_device.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/run_states.h"
#include "runtime/session/declarations.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr Elements kRows = 300, kColumns = 200;  // large enough for a stream

/// Sums of rows, then the sum of all, then sums of columns: whole numbers, so that any order adds up to the same.
class Sums final : public compll::RoundsCodec {
 public:
  Sums() {
    info_.rounds = 3;
    info_.exchanges.assign(3, compll::ExchangeKind::kSum);
  }
  const compll::CodecInfo& info() const override { return info_; }
  compll::RoundsShape shape(Elements rows, Elements columns) const override { return {{rows, 1, columns}, 1, rows}; }
  void prepare_thread() const override {}

  void turn(const compll::Turn& turn, const compll::EncodeContext&) const override {
    if (turn.number == 0) {
      std::fill_n(turn.exchanged[0], turn.rows, 0.0f);
      for_each(turn, [&](Elements i, Elements, float x) { turn.exchanged[0][i] += x; });
      std::copy_n(turn.exchanged[0], turn.rows, turn.scratch);
    } else if (turn.number == 1) {
      turn.exchanged[1][0] = 0;
      for (Elements i = 0; i < turn.rows; ++i) turn.exchanged[1][0] += turn.exchanged[0][i];
    } else if (turn.number == 2) {
      std::fill_n(turn.exchanged[2], turn.columns, 0.0f);
      for_each(turn, [&](Elements, Elements j, float x) { turn.exchanged[2][j] += x; });
    } else {
      turn.states_out[0] = turn.states_in[0] + 1;
      for_each(turn, [&](Elements i, Elements j, float) {
        turn.out[i * turn.columns + j] = turn.exchanged[1][0] + turn.exchanged[2][j] + turn.scratch[i];
      });
    }
  }

 private:
  template <class Visit>
  static void for_each(const compll::Turn& turn, Visit visit) {
    for (Elements i = 0; i < turn.rows; ++i) {
      for (Elements j = 0; j < turn.columns; ++j) visit(i, j, turn.gradient[i * turn.columns + j]);
    }
  }

  compll::CodecInfo info_;
};

/// One rank: an executor, and a gradient in rounds.
struct Member {
  Member(Rank rank, int ranks, int streams) : self(rank) {
    TransportOptions transport;
    transport.rank = rank;
    transport.ranks = ranks;
    transport.epoch = 4000 + static_cast<std::uint64_t>(10 * ranks + streams);
    ExecutorOptions options;
    options.rank = rank;
    options.ranks = ranks;
    options.streams = streams;
    executor = std::make_unique<Executor>(options, std::move(make_loopback(transport)).value(), *device);
    std::vector<std::unique_ptr<GradientRun>> runs;
    runs.push_back(test::make_rounds_weight(std::make_unique<Sums>(), ranks, rank, kRows, kColumns));
    run = runs[0].get();
    for (const Elements elements : run->rounds->shape.exchanged) {
      const std::string name = "round " + std::to_string(run->rounds->exchanges().size());
      std::unique_ptr<GradientRun> exchange = test::make_weight(name, ranks, rank, elements);
      exchange->related.belong_to(*run);
      run->rounds->add(std::move(exchange));
    }
    REQUIRE(allocate_kept(*run, *device).is_ok());
    adopting = std::move(runs);
  }

  Rank self;
  std::unique_ptr<Device> device = make_host_device();
  std::unique_ptr<Executor> executor;
  std::vector<std::unique_ptr<GradientRun>> adopting;
  GradientRun* run = nullptr;
  std::vector<float> values;
};

float element(Rank rank, std::uint32_t step, Elements i, Elements j) {
  return static_cast<float>((i + 3 * j + 5 * static_cast<Elements>(rank) + step) % 4);
}

}  // namespace

TEST_CASE("executor: the turns of a codec of rounds see the sums of all ranks, step after step") {
  for (const int ranks : {1, 2, 3}) {
    for (const int streams : {0, 2}) {
      std::vector<std::unique_ptr<Member>> members;
      std::vector<std::string> addresses;
      for (Rank rank = 0; rank < ranks; ++rank) {
        members.push_back(std::make_unique<Member>(rank, ranks, streams));
        addresses.push_back(members.back()->executor->address());
      }
      for (auto& one : members) {
        const auto complain = [](const Status& status) { FAIL(status.text()); };
        REQUIRE(one->executor
                    ->connect(addresses,
                              {[=](Rank, const Status& status) { complain(status); }, complain, [](std::uint64_t) {}})
                    .is_ok());
        REQUIRE(test::adopt(*one->executor, std::move(one->adopting)).is_ok());
      }
      for (std::uint32_t step = 0; step < 20; ++step) {
        float total = 0;
        std::vector<float> of_column(kColumns, 0.0f);
        for (auto& one : members) {
          one->values.clear();
          for (Elements i = 0; i < kRows * kColumns; ++i) {
            const float x = element(one->self, step, i / kColumns, i % kColumns);
            one->values.push_back(x);
            total += x;
            of_column[i % kColumns] += x;
          }
          const View data{reinterpret_cast<std::byte*>(one->values.data()), one->values.size() * sizeof(float)};
          const GradientStart start{one->run, step, data};
          one->executor->requests().submit({&start, 1});
        }
        for (auto& one : members) {
          REQUIRE(one->executor->waits().wait(*one->run, step, after(Seconds(20))).is_ok());
          // Not the mean: these executors' scale is 1. The total is exchanged by all, each with the same.
          std::vector<float> wanted;
          for (Elements i = 0; i < kRows; ++i) {
            float of_row = 0;
            for (Elements j = 0; j < kColumns; ++j) of_row += element(one->self, step, i, j);
            for (Elements j = 0; j < kColumns; ++j) {
              wanted.push_back(static_cast<float>(ranks) * total + of_column[j] + of_row);
            }
          }
          REQUIRE(one->values == wanted);
          CHECK(one->run->step.is_finite());
          one->run->kept.commit();
          std::vector<float> kept;
          REQUIRE(read_kept(*one->run, *one->device, &kept).is_ok());
          CHECK(kept[0] == static_cast<float>(step + 1));
        }
      }
      for (auto& one : members) {
        CHECK(one->executor->counters().tasks.load() >= 20 * 4);
        CHECK(one->executor->stop(after(Seconds(1)), after(Seconds(60))));
      }
    }
  }
}
