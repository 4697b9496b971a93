#include "plait/comm/inside/comm_settings.h"

namespace plait::dist {

constinit Setting<bool> kAgreement(
    {.name = "agreement",
     .standard = "on",
     .description = "ranks compare what they call; without it, ranks that differ may read wrong "
                    "numbers, or wait until the deadline"});
constinit Setting<std::string> kCallLog(
    {.name = "call_log",
     .standard = "",
     .description = "folder in which a process writes its last 1,000 calls to other ranks when one "
                    "fails"});

namespace {
const ListedSettings listed{&kAgreement, &kCallLog};
}  // namespace

}  // namespace plait::dist
