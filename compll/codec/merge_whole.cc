// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/merge_whole.h"

#include "base/check.h"
#include "compll/codec/tile_memory.h"
#include "compll/ops/cpu/linear.h"

namespace casync::compll {

Encoded merge_whole(const Codec& first, std::span<const Contribution> contributions, Elements n, float scale,
                    const Codec& second, Residual residual, const EncodeContext& context, std::byte* payload) {
  CASYNC_CHECK(!contributions.empty());
  float* sum = partition_memory(n);
  bool begun = false;
  for (const Contribution& each : contributions) {
    if (each.raw != nullptr) {
      begun ? add_values(each.raw, n, sum) : copy_values(each.raw, n, sum, Write::kPlain);
    } else {
      begun ? first.decode_add(each.code, n, sum) : first.decode(each.code, n, sum);
    }
    begun = true;
  }
  return second.encode_sum(sum, scale, n, residual, context, payload);
}

void Codec::result(const float*, Elements, Residual, const EncodeContext&, float*) const { CASYNC_CHECK(false); }

}  // namespace casync::compll
