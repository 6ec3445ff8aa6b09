// SPDX-License-Identifier: Apache-2.0
//
// Fits a line in C++ on several ranks, through the C interface, with gradients in 8 bits:
//   casync run -n 2 -- build/dev/bin/example_without_python [codec] [file]
// With a file each rank saves its weights, in file.0, file.1 and so on: they are the same bytes. A program outside of
// this project includes <casync.h> and links libcasync.so: docs/c.md.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "plugins/c_api/casync.h"

namespace {

constexpr int kWeights = 1000, kSteps = 300;
constexpr int kBatch = 32;  // samples of all ranks together

// The first failure is final, on all ranks.
void check(casync_status status) {
  if (status == CASYNC_OK) return;
  std::fprintf(stderr, "%s\n", casync_last_error());
  std::exit(1);
}

// Gradient of the mean squared error of weights . x - truth . x over this rank's part of a batch.
std::vector<float> gradient_of(const std::vector<float>& weights, std::mt19937& random, int rank, int ranks) {
  std::normal_distribution<float> normal;
  std::vector<float> gradient(kWeights), x(kWeights);
  for (int sample = 0; sample < kBatch; ++sample) {
    for (float& value : x) value = normal(random);
    if (sample % ranks != rank) continue;
    float error = 0;
    for (int i = 0; i < kWeights; ++i) error += (weights[i] - std::sin(static_cast<float>(i))) * x[i];
    for (int i = 0; i < kWeights; ++i) gradient[i] += error * x[i] * ranks / kBatch;  // the session averages
  }
  return gradient;
}

float distance(const std::vector<float>& weights) {
  double sum = 0;
  for (int i = 0; i < kWeights; ++i) sum += std::pow(weights[i] - std::sin(static_cast<float>(i)), 2);
  return static_cast<float>(std::sqrt(sum / kWeights));
}

void save(const std::vector<float>& weights, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(weights.data()), kWeights * sizeof(float));
  file.close();
  if (file) return;
  std::fprintf(stderr, "%s cannot be written\n", path.c_str());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string codec = argc > 1 ? argv[1] : "int8";
  casync_session_options options = {};
  options.struct_size = sizeof options;
  options.rank = options.size = -1;  // the launcher says
  options.codec = codec.c_str();
  casync_session* session = nullptr;
  check(casync_session_open(&options, &session));
  int32_t rank = 0, ranks = 0;
  check(casync_session_rank(session, &rank, &ranks));

  const int64_t shape = kWeights;
  uint32_t id = 0;
  check(casync_session_declare(session, "weights", CASYNC_FLOAT32, &shape, 1, 0, &id));

  std::vector<float> weights(kWeights, 0.0f);  // the same start on every rank
  std::mt19937 random(1);
  for (int step = 0; step < kSteps; ++step) {
    std::vector<float> gradient = gradient_of(weights, random, rank, ranks);
    void* data = gradient.data();
    const std::size_t bytes = gradient.size() * sizeof(float);
    casync_handle handle = 0;
    check(casync_session_submit(session, 1, &id, &data, &bytes, &handle));
    // Other gradients could be computed here, while this one is on its way.
    int32_t finite = 0;
    check(casync_session_step(session, &finite, nullptr, 0));
    if (finite == 0) continue;  // on all ranks alike
    for (int i = 0; i < kWeights; ++i) weights[i] -= 0.01f * gradient[i];
  }
  if (argc > 2) save(weights, argv[2] + ("." + std::to_string(rank)));
  if (rank == 0) std::printf("within %.5f of the truth after %d steps on %d ranks\n", distance(weights), kSteps, ranks);
  check(casync_session_close(session));
  casync_session_free(session);
  return distance(weights) < 0.3f ? 0 : 1;
}
