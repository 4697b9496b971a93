#include "plait/core/inside/system/available_memory.h"

#include <limits>

#include "tests/core/system/fake_root.h"

namespace plait {
namespace {

class AvailableMemory : public FakeRoot {
 protected:
  int64_t available() const { return available_memory(root()); }
};

TEST_F(AvailableMemory, IsWhatTheMachineHas) {
  EXPECT_EQ(available(), std::numeric_limits<int64_t>::max());
  write("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  10 kB\nMemAvailable:   2000 kB\n");
  EXPECT_EQ(available(), 2'048'000);
}

TEST_F(AvailableMemory, IsWhatTheControlGroupsOfVersion2Leave) {
  write("proc/meminfo", "MemAvailable: 2000 kB\n");
  write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  write("sys/fs/cgroup/jobs/one/memory.current", "5000\n");
  EXPECT_EQ(available(), 2'048'000);
  write("sys/fs/cgroup/jobs/memory.max", "9000\n");
  write("sys/fs/cgroup/jobs/memory.current", "8000\n");
  EXPECT_EQ(available(), 1000);
  write("sys/fs/cgroup/jobs/memory.stat", "anon 7000\ninactive_file 500\n");
  EXPECT_EQ(available(), 1500);
  write("sys/fs/cgroup/jobs/one/memory.max", "4000\n");
  EXPECT_EQ(available(), 0);
}

TEST_F(AvailableMemory, IsWhatTheControlGroupsOfVersion1Leave) {
  write("proc/self/mountinfo", "32 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("proc/self/cgroup", "9:memory:/one\n");
  write("sys/fs/cgroup/memory/one/memory.limit_in_bytes", "9000\n");
  write("sys/fs/cgroup/memory/one/memory.usage_in_bytes", "8500\n");
  EXPECT_EQ(available(), 500);
}

TEST(AvailableMemoryHere, IsMoreThanNothing) { EXPECT_GT(available_memory(), 0); }

}  // namespace
}  // namespace plait
