// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_order.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/keep_for_ever.h"

namespace casync::runtime {
namespace {

bool is_all_reduced(const GradientRun& run) {
  if (run.decision.servers.dedicated) return false;  // some ranks contribute nothing
  return run.is_float32() && run.codec(Hop::kFirst).info().identity && run.codec(Hop::kSecond).info().identity;
}

/// Rounds know the sizes of all payloads ahead.
Status check_sizes(const GradientRun& run) {
  for (const Hop hop : {Hop::kFirst, Hop::kSecond}) {
    const compll::Codec& codec = run.codec(hop);
    if (!compll::size_varies(codec)) continue;
    return unimplemented(
        "codec `" + codec.info().name +
        "` has coded sections, whose sizes depend on the gradient, and rounds know theirs ahead: use " +
        "another codec, or another transport than nccl");
  }
  return Status::ok();
}

/// All-reduces carry what a codec exchanges in its turns.
Status check_exchanges(const GradientRun& run) {
  if (!run.rounds) return Status::ok();
  std::string why;
  for (const compll::ExchangeKind kind : run.rounds->codec->info().exchanges) {
    switch (kind) {
      case compll::ExchangeKind::kSum: break;
      case compll::ExchangeKind::kMax:
        why = "the greatest of all ranks, and a maximum of floats by nccl may lose a NaN, which all ranks have to see";
        break;
      case compll::ExchangeKind::kElias:
        why =
            "whole numbers in a code whose size depends on the gradient, and an all-reduce would carry them as "
            "float32, in as many bytes as the gradient has";
        break;
    }
  }
  if (why.empty()) return Status::ok();
  return unimplemented("codec `" + run.decision.codec.name + "` exchanges " + why +
                       ": use another codec, or another transport than nccl");
}

}  // namespace

Status RoundOrder::take_in(std::span<GradientRun* const> runs) {
  std::vector<GradientRun*> gradients;  // without their warm-up, and what their codecs exchange
  std::set<std::uint32_t> ends{std::numeric_limits<std::uint32_t>::max()};
  for (GradientRun* run : runs) {
    run->move_to_device();
    Status status = check_exchanges(*run);
    if (status.is_ok()) status = check_sizes(*run);
    if (status.is_ok()) status = kernels_.take_in(*run);
    if (!status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    }
    run->related.for_each_end([&](std::uint32_t until) { ends.insert(until); });
    if (run->related.outer() == nullptr) gradients.push_back(run);
  }
  Intake intake;
  std::uint32_t from = 0;
  for (const std::uint32_t until : ends) {
    intake.push_back({until, {}});
    std::vector<GradientRun*> used;
    for (GradientRun* run : gradients) {
      GradientRun* const instead = run->related.warm_up_in(from);
      used.push_back(instead != nullptr ? instead : run);
    }
    CASYNC_RETURN_IF_ERROR(add_phase(used, intake));
    from = until;
  }
  intakes_->push_back(std::move(intake));
  return Status::ok();
}

/// Schedules the gradients of the intake's last phase.
Status RoundOrder::add_phase(std::span<GradientRun* const> runs, Intake& intake) {
  std::vector<RoundGradient> gradients;
  for (const GradientRun* run : runs) {
    gradients.push_back({&run->graph, run->spec.bytes(), is_all_reduced(*run) || run->rounds != nullptr});
  }
  Result<std::vector<Bucket>> schedule = make_rounds(gradients, settings_.bucket_bytes);
  if (!schedule) return schedule.status();
  const RoundTasks::Settings settings{settings_.seed, settings_.scale, kernels_};
  for (Bucket& bucket : *schedule) {
    const auto of_it = runs.subspan(bucket.first_gradient, bucket.gradients);
    auto made = std::make_unique<RoundBucket>(std::move(bucket), of_it, settings);
    CASYNC_RETURN_IF_ERROR(made->open(device_));
    intake.back().buckets.push_back(std::move(made));
  }
  return Status::ok();
}

void RoundOrder::choose(std::uint32_t step) {
  std::size_t at = 0;
  bool same = true;
  const auto visit = [&](auto take) {
    for (const Intake& intake : *intakes_) {
      const auto phase = std::find_if(intake.begin(), intake.end(), [&](const Phase& one) { return step < one.until; });
      for (const std::unique_ptr<RoundBucket>& bucket : phase->buckets) take(bucket.get());
    }
  };
  visit([&](RoundBucket* bucket) { same = same && at < order_.size() && order_[at++] == bucket; });
  if (same && at == order_.size()) return;
  order_.clear();
  bucket_of_.clear();
  visit([&](RoundBucket* bucket) {
    for (const GradientRun* run : bucket->members().runs()) bucket_of_.emplace(run, order_.size());
    order_.push_back(bucket);
  });
}

RoundExchanges::Traffic RoundOrder::traffic() const {
  RoundExchanges::Traffic all;
  for (const Intake& intake : *intakes_) {
    for (const Phase& phase : intake) {
      for (const std::unique_ptr<RoundBucket>& bucket : phase.buckets) {
        const RoundExchanges::Traffic& traffic = bucket->exchanges().traffic();
        all.messages_sent += traffic.messages_sent;
        all.messages_received += traffic.messages_received;
        all.bytes_sent += traffic.bytes_sent;
        all.bytes_received += traffic.bytes_received;
      }
    }
  }
  return all;
}

void RoundOrder::keep_memory() { keep_for_ever(intakes_); }

}  // namespace casync::runtime
