#include "plait/comm/launched.h"

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/collectives.h"
#include "plait/comm/tcp_store.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

constexpr const char* kVariables[] = {"RANK",
                                      "WORLD_SIZE",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "PMIX_NAMESPACE",
                                      "TORCHELASTIC_USE_AGENT_STORE",
                                      "SLURM_JOB_ID",
                                      "SLURM_NTASKS",
                                      "OMPI_COMM_WORLD_RANK",
                                      "SLURM_PROCID",
                                      "SLURM_STEP_NODELIST",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "PMI_RANK",
                                      "PMI_SIZE",
                                      "OMPI_MCA_ess_base_jobid"};

using Environment = std::vector<std::pair<const char*, std::string>>;

// A process that has these variables of launchers, and no others.
template <class Run>
pid_t started_with(const Environment& values, const Run& run) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  for (const char* const name : kVariables) ::unsetenv(name);
  for (const auto& [name, value] : values) ::setenv(name, value.c_str(), 1);
  expect_success(0, run);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void expect_end_of(pid_t process) {
  int status = -1;
  ::waitpid(process, &status, 0);
  EXPECT_EQ(status, 0);
}

template <class Run>
void with_variables(const Environment& values, const Run& run) {
  expect_end_of(started_with(values, run));
}

TEST(Launched, RanksJoinByTheVariablesOfALauncher) {
  for (const bool is_mpi : {false, true}) {
    const TcpStore store({.is_master = true});
    std::vector<pid_t> processes;
    for (int rank = 0; rank < 2; ++rank) {
      const Environment values = {{is_mpi ? "OMPI_COMM_WORLD_RANK" : "RANK", std::to_string(rank)},
                                  {is_mpi ? "OMPI_COMM_WORLD_SIZE" : "WORLD_SIZE", "2"},
                                  {"MASTER_ADDR", "localhost"},
                                  {"MASTER_PORT", std::to_string(store.port())},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
      processes.push_back(started_with(values, [rank] {
        const auto group = join_launched({.engine = "local"});
        EXPECT_EQ(group->rank(), rank);
        const Tensor one(Array::filled(DType::f32, {3}, Element::of(1.)));
        EXPECT_EQ(all_reduce(one, ReduceOp::sum, *group).array().elements<float>()[2], 2.F);
      }));
    }
    for (const pid_t process : processes) expect_end_of(process);
  }
}

TEST(Launched, AMissingVariableIsNamed) {
  with_variables({{"WORLD_SIZE", "2"}}, [] {
    expect_contains(message_of<ValueError>([] { join_launched(); }), {"RANK is not set"});
  });
  with_variables({{"RANK", "zero"}, {"WORLD_SIZE", "2"}}, [] {
    expect_contains(message_of<ValueError>([] { join_launched(); }), {"RANK is \"zero\""});
  });
  with_variables({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, [] {
    expect_contains(message_of<ValueError>([] { join_launched(); }), {"MASTER_PORT is not set"});
  });
}

TEST(Launched, AJobHasAPlace) {
  with_variables({{"SLURM_JOB_ID", "17"}}, [] { EXPECT_FALSE(place_of_job()); });
  const std::pair<const char*, const char*> hosts[] = {
      {"n1", "n1"},           {"n1,n2", "n1"},   {"n[3-5,7]", "n3"},
      {"n[07,09-11]", "n07"}, {"a,n[1-2]", "a"}, {"n[1-2]-gpu,m", "n1-gpu"}};
  for (const auto& [all, first] : hosts) {
    with_variables({{"SLURM_JOB_ID", "17"}, {"SLURM_STEP_NODELIST", all}}, [first] {
      const auto place = place_of_job();
      ASSERT_TRUE(place);
      EXPECT_EQ(place->host, first);
      EXPECT_GE(place->port, 20'000);
      ::setenv("SLURM_JOB_ID", "18", 1);
      EXPECT_NE(place_of_job()->port, place->port);
    });
  }
}

}  // namespace
}  // namespace plait::dist
