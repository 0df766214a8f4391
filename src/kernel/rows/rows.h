// Reductions and normalisations of single precision along rows (contiguous elements) and columns
// (many at a time).
//
// The meaning, to the bit, stands with the operators (ops/reduction, ops/normalization): sums
// follow the 16-lane rule of kernel/lanes.h, every other operation is rounded on its own, NaN
// results are canonical. Outputs may be the inputs.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// sum_square adds x * x, rounded; max and min are NaN if an element is, and take -0 to be less than
// +0.
enum class Fold { sum, sum_abs, sum_square, prod, max, min };

inline constexpr size_t kFoldLanes = 16;

SDX_DECLARE_ISAS(
    // Sixteen lanes that have taken nothing yet.
    void fold_begin(Fold, float* lanes);
    // Lanes that have taken `taken` elements take n more.
    void fold_take(Fold, float* lanes, size_t taken, const float* x, size_t n);
    float fold_end(Fold, const float* lanes);
    // y[r] = the fold of x[r * n + i] over i < n, for r < rows.
    void fold_rows(Fold, const float* x, size_t rows, size_t n, float* y);
    // y[c] = the fold of x[i * step + c] over i < n, for c < cols.
    void fold_columns(Fold, const float* x, size_t n, size_t step, size_t cols, float* y);
    // The sum of exp(x - m).
    float exp_sum(const float* x, size_t n, float m);

    // m = max x; e = exp(x - m); s = sum e; y = (x - m) - log s. The softmax itself is in
    // kernel/softmax.
    void log_softmax_row(const float* x, float* y, size_t n);
    // The same of rows one behind the other.
    void log_softmax_rows(const float* x, float* y, size_t rows, size_t n);
    // y[c] = log(sum exp(x - m)) + m over i < n of x[i * step + c], m = max x or 0 if that is
    // infinite, for c < cols.
    void log_sum_exp_columns(const float* x, float* y, size_t n, size_t step, size_t cols);
    // y = e / s, or if `log` the same as above, over i < n of x[i * step + c], for c < cols.
    void softmax_columns(bool log, const float* x, float* y, size_t n, size_t step, size_t cols);

    // mean = sum x / n; inv = 1 / sqrt(sum (x - mean)^2 / n + epsilon).
    void moments(const float* x, size_t n, float epsilon, float* mean, float* inv);
    // 1 / sqrt(sum x^2 / n + epsilon).
    float inverse_rms(const float* x, size_t n, float epsilon);
    // y[i] = ((x[i] - mean) * inv) * scale[i] + bias[i]; no bias is no addition.
    void normalize_row(const float* x, float* y, size_t n, float mean, float inv,
                       const float* scale, const float* bias);
    // y[i] = ((x[i] - mean) * inv) * scale + bias.
    void normalize_plane(const float* x, float* y, size_t n, float mean, float inv, float scale,
                         float bias);
    // y[i] = (x[i] * inv) * scale[i].
    void scale_row(const float* x, float* y, size_t n, float inv, const float* scale);
    // y[i] = x[i] * weight; the second y[i] = y[i] + x[i] * weight.
    void weigh_row(const float* x, float* y, size_t n, float weight);
    void add_weighed_row(const float* x, float* y, size_t n, float weight);
    // y[i] = a[i] * wa + b[i] * wb, each rounded.
    void blend_rows(const float* a, float wa, const float* b, float wb, float* y, size_t n);
    // Pairs (a, b) = (x[i], x[half + i]) turned: y[i] = a * cos[i] - b * sin[i] and
    // y[half + i] = b * cos[half + i] + a * sin[half + i], both times *scale if it is given.
    void rotate_halves(const float* x, const float* cos, const float* sin, const float* scale,
                       float* y, size_t half);
    // y[i] = (x[i] - mean) * scale + bias; the second with a mean, scale and bias per element.
    void shift_plane(const float* x, float* y, size_t n, float mean, float scale, float bias);
    void shift_row(const float* x, float* y, size_t n, const float* mean, const float* scale,
                   const float* bias);
    // y = x / pow(bias + factor * s, beta) with s the sum of squares, from +0, over `channels`
    // planes from `first` on, `step` apart.
    void lrn_row(const float* x, float* y, size_t n, const float* first, size_t channels,
                 size_t step, float bias, float factor, float beta);)

}  // namespace sdx
