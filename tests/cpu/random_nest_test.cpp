// Compiled nests of random operations, dtypes, layouts and reductions compared with point-by-point
// evaluation.
#include "tests/support/random_nest.h"

#include "tests/cpu/nest_reference.h"

namespace plait::nest_test {
namespace {

using RandomNests = Nests;

TEST_F(RandomNests, ComputeWhatTheirPointsDo) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomNest random(seed);
    random.fill();
    check_nest(random.nest(), random.parameter_counts(), random.result_counts(), random.symbols(),
               random.tolerance());
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

}  // namespace
}  // namespace plait::nest_test
