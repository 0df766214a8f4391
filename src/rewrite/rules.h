// The rules, in the order in which they are tried; each is described in its file.
#pragma once

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

// Before all others: operators that are compositions give way to their nodes.
extern const Rule composed;

std::span<const Rule> composed_rules();

// Padding that is a convolution's own, or none.
extern const Rule empty_padding;
extern const Rule own_padding;

std::span<const Rule> padding_rules();

// In models with convolutions of 16-bit floats.
extern const Rule wide_halves;

std::span<const Rule> halves_rules();

// A first pass puts next to each other what belongs together.
extern const Rule spelled_square;
extern const Rule spelled_gelu;
extern const Rule batch_norm;
extern const Rule quantised_moves;

std::span<const Rule> ordering_rules();

extern const Rule replace_nan;
extern const Rule transposed_weights;
extern const Rule matmul_q4;
extern const Rule integer_products;
extern const Rule rms_norm;
extern const Rule rotated_halves;
extern const Rule fuse_elementwise;

std::span<const Rule> rules();

// A further pass, over the programs that the first has made.
extern const Rule fuse_attention;
extern const Rule attention_output;
extern const Rule quantised_elementwise;

std::span<const Rule> rules_on_programs();

// What is still quantised then is read as floats, what constants give is made once, and functions
// of one byte are tables.
extern const Rule dequantised_weights;
extern const Rule constant_arithmetic;
extern const Rule quantised_tables;

std::span<const Rule> constant_rules();

// What remains to do once it is chosen how images lie (rewrite/layout).
extern const Rule join_convs;
extern const Rule join_parts;
extern const Rule join_sums;

std::span<const Rule> joining_rules();

// Last: what is joined twice is joined once.
extern const Rule joined_before;

std::span<const Rule> sharing_rules();

// The published rules that change bits: applied at the standard numerics level whether or not the
// graph is optimised.
extern const Rule qdq_conv;
extern const Rule qdq_gemm;
extern const Rule qdq_matmul;

std::span<const Rule> standard_numerics();

}  // namespace sdx::rewrite
