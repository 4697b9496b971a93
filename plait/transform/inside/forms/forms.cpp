// The table of forms. To add one, define it in a file of its own, and name it here.
#include "plait/transform/inside/forms/form.h"

namespace plait {
namespace forms {

// value_forms.cpp, guard_forms.cpp
extern const Form kLiteral, kSize, kRefine, kVary, kGuard, kSizeGuard;
// records/record_forms.cpp
extern const Form kTuple, kElement, kPack, kUnpack, kAbsent, kPresent, kIsPresent, kUnwrap;
// calls/call_forms.cpp
extern const Form kCall, kPull;
// branches/branch_forms.cpp
extern const Form kCond, kSwitch;
// loops/while_form.cpp, loops/scan_form.cpp
extern const Form kWhile, kScan;
// remat/remat_form.cpp
extern const Form kRemat;
// custom_rules/custom_forms.cpp
extern const Form kCustomVjp, kCustomJvp;

}  // namespace forms

namespace {

// These reach no form: operations, what FunctionRun runs itself (`as_size`), and what only the
// compiler makes.
constexpr Form kNotRun;

}  // namespace

const Form& form_of(ir::Structure structure) {
  switch (structure) {
    case ir::Structure::literal: return forms::kLiteral;
    case ir::Structure::size: return forms::kSize;
    case ir::Structure::refine: return forms::kRefine;
    case ir::Structure::size_guard: return forms::kSizeGuard;
    case ir::Structure::guard: return forms::kGuard;
    case ir::Structure::vary: return forms::kVary;
    case ir::Structure::tuple: return forms::kTuple;
    case ir::Structure::element: return forms::kElement;
    case ir::Structure::pack: return forms::kPack;
    case ir::Structure::unpack: return forms::kUnpack;
    case ir::Structure::absent: return forms::kAbsent;
    case ir::Structure::present: return forms::kPresent;
    case ir::Structure::is_present: return forms::kIsPresent;
    case ir::Structure::unwrap: return forms::kUnwrap;
    case ir::Structure::call: return forms::kCall;
    case ir::Structure::pull: return forms::kPull;
    case ir::Structure::cond: return forms::kCond;
    case ir::Structure::switch_: return forms::kSwitch;
    case ir::Structure::while_: return forms::kWhile;
    case ir::Structure::scan: return forms::kScan;
    case ir::Structure::remat: return forms::kRemat;
    case ir::Structure::custom_vjp: return forms::kCustomVjp;
    case ir::Structure::custom_jvp: return forms::kCustomJvp;
    case ir::Structure::machine:
    case ir::Structure::as_size:
    case ir::Structure::fused:
    case ir::Structure::unwind: break;
  }
  return kNotRun;
}

}  // namespace plait
