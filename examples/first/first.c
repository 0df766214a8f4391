/* Loads a model, runs it on one picture and prints its answer and the answer's digest: first.cc in C. */
#include <sardonyx/sardonyx_c.h>
#include <stdio.h>

/* Prints an error and lets it go; whether there was one. */
static int failed(sardonyx_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s\n", sardonyx_error_text(error));
  sardonyx_error_release(error);
  return 1;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "examples/digits/digits.onnx";
  const int64_t dims[] = {1, 1, 8, 8};
  float pixels[64] = {0}; /* all paper */
  const float* answer = NULL;
  void* data = NULL;
  size_t bytes = 0;
  char digest[65];
  int status = 1;

  sardonyx_model* model = NULL;
  sardonyx_session* session = NULL;
  sardonyx_value* picture = NULL;
  sardonyx_value* probability = NULL;
  sardonyx_options options = {.size = sizeof options, .threads = 2};
  const char* input = "picture";
  const char* output = "probability";

  for (int y = 0; y < 8; ++y) pixels[y * 8 + 4] = 1; /* one stroke down */

  if (failed(sardonyx_model_load(path, &model)) ||
      failed(sardonyx_session_new(model, &options, &session)) ||
      failed(sardonyx_tensor_over(SARDONYX_F32, dims, 4, pixels, sizeof pixels, NULL, NULL,
                                  &picture)) ||
      failed(sardonyx_session_run(session, &input, &picture, 1, &output, &probability, 1)) ||
      failed(sardonyx_tensor_data(probability, &data, &bytes)) ||
      failed(sardonyx_tensor_digest(probability, digest))) {
    goto done;
  }
  answer = data;
  for (size_t digit = 0; digit < bytes / sizeof *answer; ++digit) {
    printf("%zu: %.4f\n", digit, answer[digit]);
  }
  printf("%s\n", digest); /* the same on every machine */
  status = 0;

done:
  sardonyx_value_release(probability);
  sardonyx_value_release(picture);
  sardonyx_session_release(session);
  sardonyx_model_release(model);
  return status;
}
