/* SPDX-License-Identifier: Apache-2.0
 *
 * The C interface used from C alone: a session of one rank with a plan file (argument 1), and a codec.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plugins/c_api/casync.h"

#define ELEMENTS 512

static int failed(const char* what, casync_status status) {
  if (status == CASYNC_OK) return 0;
  fprintf(stderr, "%s: status %d, %s\n", what, (int)status, casync_last_error());
  return 1;
}

static int use_codec(void) {
  casync_codec* codec = NULL;
  float in[ELEMENTS], out[ELEMENTS];
  unsigned char payload[4 * ELEMENTS + 64];
  size_t bytes = 0, bound = 0;
  int i, wrong = 0;
  for (i = 0; i < ELEMENTS; ++i) in[i] = (float)i / ELEMENTS;
  if (failed("open", casync_codec_open("int8", NULL, 0, &codec))) return 1;
  wrong |= failed("bound", casync_codec_bound(codec, ELEMENTS, &bound)) || bound > sizeof payload;
  wrong |=
      failed("encode", casync_codec_encode(codec, in, ELEMENTS, NULL, NULL, 0, 0, payload, sizeof payload, &bytes));
  wrong |= failed("decode", casync_codec_decode(codec, payload, bytes, out, ELEMENTS));
  for (i = 0; i < ELEMENTS; ++i) wrong |= fabs((double)out[i] - (double)in[i]) > 0.01;
  casync_codec_free(codec);
  return wrong;
}

/* Sums a gradient over this rank alone. *changed: a bit of it differs. */
static int reduce(casync_session* session, const char* name, int* changed) {
  static float given[ELEMENTS], gradient[ELEMENTS];
  const int64_t shape[2] = {2, ELEMENTS / 2};
  const size_t bytes = sizeof gradient;
  void* data = gradient;
  casync_handle handle = 0;
  uint32_t id = 0;
  int32_t finite = 0;
  int i;
  for (i = 0; i < ELEMENTS; ++i) given[i] = gradient[i] = (float)i / 3;
  if (failed("declare", casync_session_declare(session, name, CASYNC_FLOAT32, shape, 2, 0, &id))) return 1;
  if (failed("submit", casync_session_submit(session, 1, &id, &data, &bytes, &handle))) return 1;
  if (failed("wait", casync_session_wait(session, handle, 10))) return 1;
  if (failed("step", casync_session_step(session, &finite, NULL, 0))) return 1;
  *changed = memcmp(gradient, given, sizeof gradient) != 0;
  return finite == 1 ? 0 : 1;
}

/* The plan compresses weights and leaves *.bias alone: not one bit of these may differ. */
static int follows_the_plan(casync_session* session) {
  int weight_changed = 0, bias_changed = 1;
  if (reduce(session, "layer.weight", &weight_changed) || reduce(session, "layer.bias", &bias_changed)) return 0;
  if (!weight_changed) fprintf(stderr, "layer.weight was not compressed\n");
  if (bias_changed) fprintf(stderr, "layer.bias was not left alone\n");
  return weight_changed && !bias_changed;
}

int main(int argc, char** argv) {
  casync_session_options options;
  casync_session* session = NULL;
  int wrong;
  if (argc != 2) {
    fprintf(stderr, "usage: %s PLAN\n", argv[0]);
    return 2;
  }
  if (casync_abi_version() != CASYNC_ABI_VERSION || strlen(casync_version()) == 0) return 1;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.size = 1;
  options.plan = argv[1];
  options.transport = "loopback";
  options.timeout_s = 20;
  if (failed("open", casync_session_open(&options, &session))) return 1;
  wrong = !follows_the_plan(session);
  wrong |= failed("close", casync_session_close(session));
  casync_session_free(session);
  return wrong | use_codec();
}
