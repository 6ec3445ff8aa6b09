/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of somebody else: one gradient, encoded with int8 and decoded again. */
#include <casync.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kElements = 1000 };

static void need(casync_status status, const char* what) {
  if (status == CASYNC_OK) return;
  fprintf(stderr, "%s: %d: %s\n", what, (int)status, casync_last_error());
  exit(1);
}

int main(void) {
  float gradient[kElements];
  float decoded[kElements];
  for (int i = 0; i < kElements; ++i) gradient[i] = sinf((float)i);

  casync_codec* codec = NULL;
  need(casync_codec_open("int8", NULL, 0, &codec), "open");
  size_t capacity = 0;
  size_t bytes = 0;
  need(casync_codec_bound(codec, kElements, &capacity), "bound");
  void* payload = malloc(capacity);
  need(casync_codec_encode(codec, gradient, kElements, NULL, NULL, 0, 0, payload, capacity, &bytes), "encode");
  need(casync_codec_decode(codec, payload, bytes, decoded, kElements), "decode");
  casync_codec_free(codec);
  free(payload);

  for (int i = 0; i < kElements; ++i) {
    if (!(fabsf(decoded[i] - gradient[i]) <= 0.01f)) {
      fprintf(stderr, "element %d: %g was decoded as %g\n", i, gradient[i], decoded[i]);
      return 1;
    }
  }
  printf("casync %s: %d floats in %zu bytes\n", casync_version(), kElements, bytes);
  return casync_abi_version() == CASYNC_ABI_VERSION ? 0 : 1;
}
