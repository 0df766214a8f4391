#include "program.h"

int main(int argc, char** argv) { return sdx::cli::program(argc, argv); }
