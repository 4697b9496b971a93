// How another language, from which Plait was called, stops what runs for long.
#pragma once

namespace plait {

// Asked now and then on the thread that computes. What it throws ends the computation; whatever was
// there before stays as it was.
void set_interruption_check(void (*check)());

// Where there is a good place to stop. At most every five milliseconds it asks.
void check_interruption();

}  // namespace plait
