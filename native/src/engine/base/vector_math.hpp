#pragma once

#include <cstddef>

namespace pergola {

/// Reductions over a row of the vocabulary, made for vector units. Entries may be -infinity; no NaN.

float greatest(const float* values, size_t count);
/// Index of the first greatest entry; 0 for nothing.
size_t index_of_greatest(const float* values, size_t count);
/// Natural logarithm of the sum of exponentials, within 1e-6; -infinity when no entry is finite.
float log_sum_exp(const float* values, size_t count);
/// In place: natural logarithm of the softmax. Returns false when no entry is finite.
bool log_softmax(float* values, size_t count);

}  // namespace pergola
