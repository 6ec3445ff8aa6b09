// SPDX-License-Identifier: Apache-2.0
//
// The form in which a target computes a program. It is decided here, once for each target.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

struct Form {
  enum class Kind : std::uint8_t {
    kTiles,   ///< one pass computes element by element
    kVector,  ///< each statement may need all elements
    kRounds,  ///< turns between exchanges
  };
  Kind kind = Kind::kTiles;
  /// The reason: "each value depends on its element, its block or the tensor", "line 3 has `largest`, which cannot be
  /// taken apart into tiles", or that of the target.
  std::string reason;
};

/// The form that targets have in common, and the graphs of tiles, which a target may still refuse.
struct CommonForm : Form {
  std::shared_ptr<const Lowered> lowered;  ///< null unless the form is tiles
};
/// The program must outlive the result.
CommonForm form_of(const Program& program, const Source& source);

/// The form of a target, with its plan by tiles if that is the form. The graphs outlive the plan with it.
template <class Tiles>
struct TargetForm : Form {
  std::shared_ptr<const Lowered> lowered;  ///< null if no target has tiles
  std::optional<Tiles> tiles;
};

/// Decides the form of a target by its planner of tiles: plan_cpu_tiles, plan_cuda_tiles.
template <class Tiles>
TargetForm<Tiles> form_of(const Program& program, const Source& source,
                          Result<Tiles> (*plan_tiles)(const Program&, const Lowered&, const Source&)) {
  CommonForm common = form_of(program, source);
  TargetForm<Tiles> form{{common.kind, common.reason}, common.lowered, {}};
  if (form.kind != Form::Kind::kTiles) return form;
  Result<Tiles> tiles = plan_tiles(program, *form.lowered, source);
  if (tiles) {
    form.tiles = std::move(*tiles);
  } else {
    form.kind = Form::Kind::kVector;
    form.reason = tiles.status().message();
  }
  return form;
}

}  // namespace casync::compll
