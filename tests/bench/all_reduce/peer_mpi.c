// SPDX-License-Identifier: Apache-2.0
// mpirun -n 2 peer_mpi BYTES ITERATIONS: rank 0 prints the microseconds of each in-place all-reduce, one a line. Exit
// code 1: the last sum is wrong.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const size_t count = strtoul(argv[1], NULL, 10) / sizeof(float);
  const int iterations = atoi(argv[2]), warm_up = 5;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  float* input = malloc(count * sizeof(float));
  float* data = malloc(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) input[i] = (float)(i % 1000) + (float)rank;
  for (int i = -warm_up; i < iterations; ++i) {
    memcpy(data, input, count * sizeof(float));
    const double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && i >= 0) printf("%.3f\n", 1e6 * (MPI_Wtime() - start));
  }
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    const float sum = (float)ranks * (float)(i % 1000) + (float)(ranks * (ranks - 1) / 2);
    if (data[i] != sum) ++wrong;
  }
  if (wrong > 0) fprintf(stderr, "%zu elements are wrong on rank %d\n", wrong, rank);
  MPI_Finalize();
  return wrong > 0;
}
