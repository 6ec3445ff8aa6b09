// SPDX-License-Identifier: Apache-2.0
//
// A plan's file in C, without a session: for programs that want to know early.
#include "base/codec_file.h"
#include "casync/planner/plan_codecs.h"
#include "casync/planner/plan_file.h"
#include "compll/codec/codec.h"
#include "compll/codec/rounds_codec.h"
#include "plugins/c_api/error.h"

using namespace casync;         // NOLINT: this file is the seam
using namespace casync::c_api;  // NOLINT

namespace {

Status check_codec(const CodecChoice& choice) {
  if (is_codec_file(choice.name)) return Status::ok();
  if (compll::has_rounds(choice.name)) return compll::make_rounds_codec(choice.name, choice.parameters).status();
  return compll::make_codec(choice.name, choice.parameters).status();
}

Status check(const char* path) {
  CASYNC_RETURN_IF_ERROR(need(path, "path"));
  const Result<Plan> plan = read_plan_file(path);
  if (!plan) return plan.status();
  for (const PlannedCodec& codec : codecs_in(*plan)) {
    const Status known = check_codec(codec.choice);
    if (!known) return plan_error(std::string(path) + ": " + codec.where + ": " + known.message());
  }
  return Status::ok();
}

}  // namespace

casync_status casync_plan_check(const char* path) {
  return guarded([&] { return check(path); });
}
