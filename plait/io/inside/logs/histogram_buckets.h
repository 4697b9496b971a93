// The histograms that TensorBoard shows: buckets whose limits grow by a tenth from 1e-12 to 1e20,
// on both sides of zero.
#pragma once

#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// A bucket has the elements below its limit that are not in an earlier one. NaNs are in none, but
// count as elements, and the sums are NaN then. Runs of empty buckets are merged.
struct Histogram {
  double min = 0,
         max =
             0;  // min and max of the elements that are not NaN; infinite and reversed without any
  double count = 0, sum = 0, sum_of_squares = 0;
  std::vector<double> limits = {}, counts = {};
};

// Independent of the number of threads. TypeError for complex numbers, ValueError for an array
// without elements.
Histogram histogram_of(const Array& array);

}  // namespace plait
