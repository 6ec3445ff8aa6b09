// SPDX-License-Identifier: Apache-2.0
// Encodes a gradient for ten steps with error feedback and shows that what is not sent in one step is sent later.
//   01_encode_decode [codec]       (int4 when none is named)
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "compll/codec/codec.h"

int main(int argc, char** argv) {
  using casync::compll::make_codec;
  const std::string name = argc > 1 ? argv[1] : "int4";
  const auto codec = make_codec(name);
  if (!codec.is_ok()) {
    std::fprintf(stderr, "%s\n", codec.status().text().c_str());
    return 2;
  }

  const std::size_t n = 10000;
  std::vector<float> gradient(n), decoded(n), residual(n, 0.0f), next_residual(n);
  for (std::size_t i = 0; i < n; ++i) gradient[i] = std::sin(static_cast<float>(i));
  std::vector<std::byte> payload((*codec)->encoded_bound(n));
  std::printf("%s: %zu bytes instead of %zu\n", name.c_str(), payload.size(), n * sizeof(float));

  std::vector<double> applied(n, 0.0);
  double first = 0, last = 0;  // distances from the gradient
  for (int step = 1; step <= 10; ++step) {
    const auto encoded =
        (*codec)->encode(gradient.data(), n, {residual.data(), next_residual.data()}, {}, payload.data());
    // Bytes from a peer are checked, then decoded.
    const auto checked = (*codec)->check({payload.data(), encoded.size}, n);
    if (!checked.is_ok()) {
      std::fprintf(stderr, "%s\n", checked.text().c_str());
      return 1;
    }
    (*codec)->decode({payload.data(), encoded.size}, n, decoded.data());
    if (encoded.finite) residual.swap(next_residual);  // a step with NaN or infinity leaves the residual as it was

    last = 0;
    for (std::size_t i = 0; i < n; ++i) {
      applied[i] += decoded[i];
      last = std::fmax(last, std::fabs(applied[i] / step - gradient[i]));
    }
    if (step == 1) first = last;
    std::printf("step %2d: the mean of what was applied is within %.4f of the gradient\n", step, last);
  }
  // The residual stays as small as one step's error, so its part of the mean falls as 1 / steps.
  const bool works = last <= first / 2;
  std::printf("error feedback %s: within %.4f after ten steps, within %.4f after one\n", works ? "works" : "FAILED",
              last, first);
  return works ? 0 : 1;
}
