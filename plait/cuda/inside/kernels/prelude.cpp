#include "plait/cuda/inside/kernels/prelude.h"

#include <string>

namespace plait::cuda {
namespace {

// Each part uses those before it.
constexpr std::string_view kTypes =
#include "plait/cuda/inside/kernels/prelude_types.inl"
    ;
constexpr std::string_view kArithmetic =
#include "plait/cuda/inside/kernels/prelude_arithmetic.inl"
    ;
constexpr std::string_view kFunctions =
#include "plait/cuda/inside/kernels/prelude_functions.inl"
    ;
constexpr std::string_view kNests =
#include "plait/cuda/inside/kernels/prelude_nests.inl"
    ;

}  // namespace

std::string_view prelude() {
  static const std::string whole = [] {
    std::string text;
    for (const std::string_view part : {kTypes, kArithmetic, kFunctions, kNests}) {
      text += part;
    }
    return text;
  }();
  return whole;
}

}  // namespace plait::cuda
