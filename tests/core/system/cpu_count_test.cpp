#include "plait/core/inside/system/cpu_count.h"

#include <string>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/core/system/fake_root.h"

namespace plait {
namespace {

class CpuQuota : public FakeRoot {
 protected:
  void mount_version_2(const std::string& group = "/") {
    write("proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n30 22 0:26 " + group +
              " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
  }
  void mount_version_1(const std::string& group = "/") {
    write("proc/self/mountinfo",
          "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n32 23 0:28 " + group +
              " /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  }
  std::optional<int> quota() const { return cpu_quota(root()); }
};

TEST_F(CpuQuota, IsNoneWithoutControlGroups) {
  EXPECT_EQ(quota(), std::nullopt);
  mount_version_2();
  EXPECT_EQ(quota(), std::nullopt);
  write("proc/self/cgroup", "0::/jobs/one\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CpuQuota, IsReadFromVersion2) {
  mount_version_2();
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("sys/fs/cgroup/jobs/one/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
}

TEST_F(CpuQuota, IsRoundedUp) {
  mount_version_2();
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 2);
  write("sys/fs/cgroup/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(CpuQuota, IsTheLeastOfAllGroupsAround) {
  mount_version_2();
  write("proc/self/cgroup", "0::/jobs/one\n");
  write("sys/fs/cgroup/jobs/one/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/jobs/cpu.max", "300000 100000\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CpuQuota, IsReadWhereAContainerMountsItsGroup) {
  mount_version_2("/docker/abc");
  write("proc/self/cgroup", "0::/docker/abc/inner\n");
  write("sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(quota(), 5);
  write("sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(CpuQuota, IsReadFromVersion1) {
  mount_version_1();
  write("proc/self/cgroup", "5:cpuset:/pinned\n4:cpu,cpuacct:/jobs\n0::/\n");
  write("sys/fs/cgroup/cpu/jobs/cpu.cfs_period_us", "50000\n");
  write("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("sys/fs/cgroup/cpu/jobs/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CpuQuota, IsNoneWhereFilesMakeNoSense) {
  mount_version_2();
  write("proc/self/cgroup", "0::/\nnonsense\n7\n::\n");
  for (const char* text : {"", "many", "-5 100000", "100000", "100000 0", "100000 -1"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), std::nullopt) << text;
  }
  write("proc/self/mountinfo", "30 22\n\n- - -\n30 22 0:26 / /sys/fs/cgroup rw -\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST(CpuCount, FollowsTheAffinityOfTheProcess) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  const int available = available_cpu_count();
  EXPECT_GE(available, 1);
  EXPECT_LE(available, CPU_COUNT(&before));
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cpu_count(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(available_cpu_count(), available);
}

}  // namespace
}  // namespace plait
