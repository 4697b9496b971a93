// The stages of one row, by the threads that share it: for schedules with reductions along columns.
#pragma once

#include <vector>

#include "plait/cuda/inside/nests/nest_schedules.h"

namespace plait::cuda {

class StageText {
 public:
  StageText(NestText& text, const RowSchedule& schedule) : text_(text), schedule_(schedule) {}

  // Before the rows: `lane`, `of_block` (the row among those of the block), buffers and scratch.
  void declare();
  // The indices of the row are declared. Accumulated results go to t0, … (numbers) and q0, …
  // (memory, at `slot`).
  void print();
  // The combination of x over the lanes of the row.
  std::string joined(std::string_view reduction, const std::string& x) const;

 private:
  const PlannedNest& planned() const { return text_.planned(); }
  const compile::Nest& nest() const { return text_.nest(); }
  void print_stage(uint32_t stage);
  void print_element(uint32_t stage, std::span<const uint32_t> values,
                     std::span<const uint32_t> stored);
  void finish_row();

  NestText& text_;
  RowSchedule schedule_;
};

}  // namespace plait::cuda
