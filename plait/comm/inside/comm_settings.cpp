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
constinit Setting<std::string> kNccl(
    {.name = "nccl",
     .standard = "auto",
     .description = "the library of the engine nccl: auto, or a path",
     .form = "auto or a path"});

namespace {
const ListedSettings listed{&kAgreement, &kCallLog, &kNccl};
}  // namespace

}  // namespace plait::dist
