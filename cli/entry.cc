#include "program.h"
#ifdef SDX_SERVE
#include "attest/records.h"
#include "serving.h"
#endif

int main(int argc, char** argv) {
#ifdef SDX_SERVE
  constexpr sdx::cli::MakeCommand kServing[] = {sdx::cli::serve_command, sdx::cli::worker_command};
  sdx::cli::verify_records_by(sdx::cli::verify_recorded);
  return sdx::cli::program(argc, argv, kServing);
#else
  return sdx::cli::program(argc, argv);
#endif
}
