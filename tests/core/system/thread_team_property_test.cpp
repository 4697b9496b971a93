#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plait/core/system/thread_team.h"

#include "tests/core/system/thread_ranges.h"
#include "tests/support/threads.h"

namespace plait {
namespace {

RC_GTEST_PROP(ThreadTeamProperty, RangesTileTheCountInWholeUnits, ()) {
  const Threads threads(*rc::gen::inRange(1, 9));
  const int64_t count =
      *rc::gen::oneOf(rc::gen::inRange<int64_t>(0, 300), rc::gen::inRange<int64_t>(0, INT64_MAX));
  const int64_t grain = *rc::gen::oneOf(
      rc::gen::inRange<int64_t>(1, 40), rc::gen::inRange<int64_t>(1, INT64_MAX),
      rc::gen::map(rc::gen::inRange<int64_t>(1, 5), [](int64_t n) { return 64 * n; }));
  const Ranges ranges = ranges_of(count, grain);
  const int64_t unit = grain % 64 == 0 ? 64 : 1;
  int64_t next = 0, least = INT64_MAX, most = 0;
  for (const auto& [begin, end] : ranges) {
    RC_ASSERT(begin == next);
    RC_ASSERT(end > begin);
    RC_ASSERT(end == count || end % unit == 0);
    next = end;
    const int64_t units = (end - begin - 1) / unit + 1;
    least = std::min(least, units);
    most = std::max(most, units);
  }
  RC_ASSERT(next == count);
  RC_ASSERT(ranges.empty() || (most - least) / 2 < std::max<int64_t>(grain / unit, 1));
  RC_ASSERT(count > grain || ranges.size() <= 1);

  const ThreadLimit limit(*rc::gen::inRange(1, 9));
  RC_ASSERT(ranges_of(count, grain) == ranges);
}

RC_GTEST_PROP(ThreadTeamProperty, TheLowestFailureIsThrown, (std::vector<bool> fails)) {
  const Threads threads(*rc::gen::inRange(1, 5));
  const auto first = std::find(fails.begin(), fails.end(), true);
  int64_t thrown = static_cast<int64_t>(fails.size());
  try {
    parallel_chunks(thrown, [&](int64_t chunk) {
      if (fails[chunk]) throw chunk;
    });
  } catch (int64_t chunk) {
    thrown = chunk;
  }
  RC_ASSERT(thrown == first - fails.begin());
}

}  // namespace
}  // namespace plait
