// Steps over numbers, sizes, records and optional values, which compute no arrays.
#pragma once

#include <cstdint>
#include <span>

#include "plait/compile/inside/running/frame.h"

namespace plait::compile {

// ---- Sizes.

void run_step(Frame& frame, const Step& step, const SizeStep& kind);
void run_step(Frame& frame, const Step& step, const AsSizeStep& kind);
void run_step(Frame& frame, const Step& step, const RefineStep& kind);
void run_step(Frame& frame, const Step& step, const SetSizesStep& kind);

// ---- Records and optional values.

void run_step(Frame& frame, const Step& step, const TupleStep& kind);
void run_step(Frame& frame, const Step& step, const ElementStep& kind);
void run_step(Frame& frame, const Step& step, const PackStep& kind);
void run_step(Frame& frame, const Step& step, const UnpackStep& kind);
void run_step(Frame& frame, const Step& step, const AbsentStep& kind);
void run_step(Frame& frame, const Step& step, const PresentStep& kind);
void run_step(Frame& frame, const Step& step, const IsPresentStep& kind);
void run_step(Frame& frame, const Step& step, const UnwrapStep& kind);
// Takes the first node of a list; false if the list is empty.
bool take_node(Frame& frame, const Step& step, const NextNodeStep& kind);

// ---- Branches.

// The step of a `switch_` that the index selects; IndexError if there is none.
uint32_t chosen_target(std::span<const uint32_t> targets, int64_t index);

// ---- Registers.

void run_step(Frame& frame, const Step& step, const MoveStep& kind);
void run_step(Frame& frame, const Step& step, const DropStep& kind);

}  // namespace plait::compile
