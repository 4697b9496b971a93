// Registers all primitives, so that every test finds them by name, also when it runs alone.
#include <gtest/gtest.h>

#include "plait/ops/register_all.h"

namespace plait {
namespace {

class Registered : public testing::Environment {
 public:
  void SetUp() override { register_all(); }
};
const testing::Environment* const registered = testing::AddGlobalTestEnvironment(new Registered);

}  // namespace
}  // namespace plait
